#!/bin/sh
# Makes .venv and installs what the lock names, hash-checked: `install.sh run` for the service, `install.sh otel` for
# OpenTelemetry too, `install.sh dev` for its tests too. Needs Python 3.11 or newer and a package index; two at once
# wait for each other.
set -eu

kind=${1:-run}
here=$(CDPATH='' cd "$(dirname "$0")" && pwd -P)
root=$(CDPATH='' cd "$here/../.." && pwd -P)
venv=$root/.venv
case $kind in
    run) lock=$root/deploy/requirements.lock ;;
    dev) lock=$root/deploy/requirements-dev.lock ;;
    otel) lock=$root/deploy/requirements-otel.lock ;;
    *) echo "install.sh: run, dev or otel" >&2; exit 2 ;;
esac

case ${LC_ALL:-${LC_MESSAGES:-${LANG:-}}} in
    zh*) chinese=1 ;;
    *) chinese= ;;
esac
say() { # zh, en
    if [ -n "$chinese" ]; then echo "$1" >&2; else echo "$2" >&2; fi
}

is_done() {
    [ -x "$venv/bin/python" ] && cmp -s "$lock" "$venv/installed-$kind.lock"
}

find_python() {
    # A name on PATH may be a shim that has no such version: each is asked. The versions tested most come first.
    for name in python3.11 python3.12 python3.13 python3.14 python3 python; do
        if "$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    say "需要 Python 3.11 或更新版本（Debian：apt install python3；macOS：brew install python@3.12）。" \
        "Python 3.11 or newer is needed (Debian: apt install python3; macOS: brew install python@3.12)."
    exit 1
}

take_lock() {
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$root/.venv.lock"
        flock 9
        return
    fi
    # mkdir is atomic everywhere. The holder's pid tells a lock that was left behind by a killed one.
    while ! mkdir "$root/.venv.lock.d" 2>/dev/null; do
        holder=$(cat "$root/.venv.lock.d/pid" 2>/dev/null || true)
        if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
            rm -rf "$root/.venv.lock.d"
        else
            sleep 1
        fi
    done
    echo $$ >"$root/.venv.lock.d/pid"
    trap 'rm -rf "$root/.venv.lock.d"' EXIT
    trap 'exit 130' INT TERM HUP
}

install() {
    python=$(find_python)
    say "首次使用：正在安装到 $venv（约一分钟）……" "first use: installing into $venv (about a minute) ..."
    if ! "$venv/bin/python" -c '' >/dev/null 2>&1; then
        rm -rf "$venv"
        # Debian's python3 has no ensurepip, so pip comes from a wheel of ours.
        "$python" -m venv --without-pip "$venv"
    fi
    rm -f "$venv/installed-$kind.lock"
    set -- "$here"/pip-*.whl
    run_pip() { env -u PYTHONPATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
        "$venv/bin/python" "$wheel/pip" "$@"; }
    wheel=$1
    run_pip install -q --no-index --no-deps "$wheel"
    run_pip install -q --require-hashes -r "$lock"
    # Always both on one line: the service depends on the client, which no index has.
    (cd "$root" && run_pip install -q --no-deps --no-build-isolation -e ./client .)
    cp "$lock" "$venv/installed-$kind.lock.part"
    mv "$venv/installed-$kind.lock.part" "$venv/installed-$kind.lock"
}

if ! is_done; then
    take_lock
    is_done || install
fi
