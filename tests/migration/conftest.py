"""Two tenants with one row in every tenant table, in a database of their own: the rows are made up."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.conftest import DatabaseUrls, fresh_database
from tests.factories.rows import Row, Table, add_endpoint, seed, tenant_tables


class Seeded:
    """Two tenants with one row in every table, and the application's own connection."""

    def __init__(
        self, tables: Sequence[Table], rows: dict[UUID, dict[str, Row]], app: psycopg.Connection
    ) -> None:
        self.tables = tables
        self.rows = rows
        self.mine, self.other = rows
        self._app = app

    @contextmanager
    def bound(self, tenant: str | None) -> Iterator[psycopg.Connection]:
        """A transaction of the application under this value of `app.tenant_id`, rolled back."""
        with self._app.transaction(force_rollback=True):
            if tenant is not None:
                self._app.execute("SELECT set_config('app.tenant_id', %s, true)", [tenant])
            yield self._app

    def mine_to_insert(self) -> list[Table]:
        return [table for table in self.tables if self._may(table, "INSERT")]

    def _may(self, table: Table, privilege: str) -> bool:
        asked = self._app.execute("SELECT has_table_privilege(%s, %s)", [f"eai.{table.name}", privilege])
        return bool(asked.fetchone() == (True,))


@pytest.fixture(scope="package")
def seeded_urls() -> Iterator[DatabaseUrls]:
    with fresh_database() as urls:
        yield urls


@pytest.fixture(scope="package")
def superuser(seeded_urls: DatabaseUrls) -> Iterator[psycopg.Connection]:
    with psycopg.connect(seeded_urls.admin, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="package")
def seeded(seeded_urls: DatabaseUrls, superuser: psycopg.Connection) -> Iterator[Seeded]:
    tables = tenant_tables(superuser)
    add_endpoint(superuser)
    # What rows set off where a transaction ends would otherwise add rows to a table that is to get its own.
    with superuser.transaction():
        rows = {tenant: seed(superuser, tables, tenant) for tenant in (uuid4(), uuid4())}
    with psycopg.connect(seeded_urls.app, autocommit=True) as app:
        yield Seeded(tables, rows, app)
