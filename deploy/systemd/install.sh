#!/bin/sh
# Puts the units in place: `sudo sh deploy/systemd/install.sh`. The checkout is at /opt/afterturn, with its .venv
# (`./afterturn doctor` makes it). Repeat: harmless; /etc/afterturn is left as it is. DESTDIR puts all under a folder.
set -eu
here=$(CDPATH='' cd "$(dirname "$0")" && pwd -P)
units=${DESTDIR:-}/etc/systemd/system

if [ -z "${DESTDIR:-}" ]; then
    id afterturn >/dev/null 2>&1 || useradd --system --user-group --home-dir /var/lib/afterturn --shell /usr/sbin/nologin afterturn
fi
install -d "$units"
install -d -m 0700 "${DESTDIR:-}/etc/afterturn" "${DESTDIR:-}/etc/afterturn/secrets"
for unit in "$here"/*.service "$here"/*.target; do
    install -m 0644 "$unit" "$units/"
done
for unit in "$here"/*.service; do
    install -d "$units/$(basename "$unit").d"
    install -m 0644 "$here/10-afterturn.conf" "$units/$(basename "$unit").d/"
done
if [ -z "${DESTDIR:-}" ]; then
    systemctl daemon-reload
    echo "systemctl enable --now afterturn.target"
fi
