"""A store that does not answer is told by its address, so that somebody can go and look; never by its password."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import make_url

from schemas.errors import ServiceError, StoreBusy
from services import free_port
from stores.addresses import database_address, server_address
from stores.sql import Database, current_revision, upgrade
from stores.weaviate.connection import Connection, Endpoint


def read(url: str) -> object:
    database = Database(url)
    try:
        with database.read() as session:
            return session.connection()
    finally:
        database.dispose()


def write(url: str) -> object:
    database = Database(url)
    try:
        return database.write(lambda session: session.connection())
    finally:
        database.dispose()


@pytest.mark.parametrize("use", [read, write, current_revision, upgrade])
def test_a_database_out_of_reach_is_named(postgres_url: str, use: Callable[[str], object]) -> None:
    there = make_url(postgres_url).set(drivername="postgresql+psycopg", password="hush")
    changes: list[tuple[dict[str, Any], str]] = [
        ({"database": "nowhere"}, "the server at {} has no database of that name"),
        ({"port": free_port()}, "the database at {} does not answer"),
    ]

    for change, said in changes:
        url = there.set(**change)
        with pytest.raises(StoreBusy) as caught:
            use(url.render_as_string(hide_password=False))
        assert str(caught.value) == said.format(database_address(url))


def test_a_weaviate_out_of_reach_is_named() -> None:
    async def ask(client: Any) -> object:
        return await client.is_ready()

    port = free_port()
    connection = Connection(Endpoint(f"http://127.0.0.1:{port}"))
    try:
        with pytest.raises(ServiceError) as caught:
            connection.run(ask, seconds=10, doing="asking")
    finally:
        connection.close()

    assert (str(caught.value), caught.value.code) == (f"Weaviate at 127.0.0.1:{port} does not answer", "index_down")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("postgresql://u:hush@db.lan:5432/shop", "db.lan:5432/shop"),
        ("postgresql://u:hush@[::1]/shop", "[::1]/shop"),
        ("postgresql://u:hush@/shop?host=/run/pg", "/run/pg/shop"),
        ("postgresql://u:hush@/shop?host=a:1&host=b:2", "a:1,b:2/shop"),
        ("sqlite:////data/afterturn.db", "/data/afterturn.db"),
    ],
)
def test_the_address_of_a_database_is_where_to_look(url: str, address: str) -> None:
    assert database_address(make_url(url)) == address


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://u:hush@broker.lan:6379/1", "broker.lan:6379/1"),
        ("rediss://:hush@[::1]:6379", "[::1]:6379"),
        ("redis+socket:///data/broker/valkey.sock?virtual_host=0", "/data/broker/valkey.sock"),
        ("http://weaviate.lan:8080/", "weaviate.lan:8080"),
    ],
)
def test_the_address_of_a_server_is_where_to_look(url: str, address: str) -> None:
    assert server_address(url) == address
