"""What an embedded installation needs once: tables, a tenant, a credential for its own use."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from sqlmodel import Session

from schemas.errors import BadSettings, Forbidden
from schemas.tables import Tenant
from stores import tenancy
from stores.settings import Settings
from stores.sql import Database, current_revision, head_revision, upgrade
from workers.processes import write_secret

TENANT = "default"


def prepare(settings: Settings) -> None:
    """Migrates, and makes the tenant `default` and the key file where they are missing. Repeat: harmless.

    Raises: BadSettings when the key file belongs to another database.
    """
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    upgrade(settings)
    with opened(settings) as database:
        if settings.key_file.is_file():
            _refuse_foreign_key(settings, database)
            return
        credential = database.write(_first_key)
    write_secret(settings.key_file, credential)


def require_schema(settings: Settings) -> None:
    """Raises: BadSettings when the database's schema is not this version's, as where nothing was ever started."""
    if current_revision(settings) != head_revision():
        raise BadSettings("AFTERTURN_DATABASE_URL: its schema is not this version's. Mend: ./afterturn migrate")


@contextmanager
def opened(settings: Settings) -> Generator[Database]:
    """The database, closed afterwards. Raises: BadSettings when its schema is not this version's."""
    require_schema(settings)
    database = Database(settings.database_url)
    try:
        yield database
    finally:
        database.dispose()


def tenant_named(session: Session, name: str) -> Tenant:
    """The tenant of that name, made if there is none."""
    return tenancy.find_tenant(session, name) or tenancy.create_tenant(session, name)


def _first_key(session: Session) -> str:
    return tenancy.create_key(session, tenant_named(session, TENANT), tenancy.RIGHTS)[1]


def _refuse_foreign_key(settings: Settings, database: Database) -> None:
    credential = settings.key_file.read_text("ascii").strip()
    try:
        with database.read() as session:
            tenancy.key_of_bearer(session, credential)
    except Forbidden:
        raise BadSettings(
            f"AFTERTURN_KEY: the database does not know the key in {settings.key_file}. "
            "Mend: move that file away, and the next start makes a new one"
        ) from None
