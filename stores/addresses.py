"""Where a store is, for whoever must look after it: host, port and name, never a user or a password."""

from __future__ import annotations

from urllib.parse import urlsplit

from sqlalchemy import URL


def database_address(url: URL) -> str:
    """`host:port/name` as the URL has them; the path of a file."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    named = url.query.get("host", "localhost")
    hosts = [_bracketed(url.host)] if url.host else [named] if isinstance(named, str) else named
    port = f":{url.port}" if url.port else ""
    return f"{','.join(hosts)}{port}/{url.database or ''}"


def server_address(url: str) -> str:
    """`host:port/name` of a broker or a Weaviate, or the path of its socket."""
    parts = urlsplit(url)
    if not parts.hostname:
        return parts.path
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{_bracketed(parts.hostname)}{port}{parts.path.rstrip('/')}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
