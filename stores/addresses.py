"""Where a store is, for whoever must look after it: host, port and name, never a user or a password."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from sqlalchemy import URL


def database_address(url: URL) -> str:
    """`host:port/name` as the URL has them; the path of a file."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    hosts = [str(url.host)] if url.host else _hosts(url)
    port = f":{url.port}" if url.port else ""
    return f"{','.join(hosts)}{port}/{url.database or ''}"


def server_address(url: str) -> str:
    """`host:port/name` of a broker or a Weaviate, or the path of its socket."""
    parts = urlsplit(url)
    if not parts.hostname:
        return parts.path
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{host}{port}{parts.path.rstrip('/')}"


def _hosts(url: URL) -> list[str]:
    given = [value for name, value in parse_qsl(urlsplit(url.render_as_string()).query) if name == "host"]
    return given or ["localhost"]
