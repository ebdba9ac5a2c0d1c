"""Every tenant table, found in the catalogue and seeded for two tenants: attack lines 36, 38, 40 and 41.

Whatever the application's role tries, it sees and touches the rows of the tenant that is bound, and with
none bound it sees nothing.
"""

from uuid import UUID

import psycopg
import pytest
from psycopg import errors, sql

from tests.factories.rows import Table, insert, row_of
from tests.migration.conftest import Seeded

REFUSED = (errors.InsufficientPrivilege,)


def _tenants_seen(connection: psycopg.Connection, table: Table) -> set[UUID]:
    return {t for (t,) in connection.execute(sql.SQL("SELECT tenant_id FROM {}").format(table.sql))}


def test_every_tenant_table_is_seeded(seeded: Seeded) -> None:
    assert len(seeded.tables) >= 22
    assert {table.name for table in seeded.tables} == set(seeded.rows[seeded.mine])


def test_a_binding_shows_each_table_its_own_rows_only(seeded: Seeded) -> None:
    for tenant in (seeded.mine, seeded.other):
        with seeded.bound(str(tenant)) as app:
            seen = {table.name: _tenants_seen(app, table) for table in seeded.tables}
        assert seen == {table.name: {tenant} for table in seeded.tables}


@pytest.mark.parametrize("binding", [None, ""])
def test_without_a_binding_every_table_is_empty(seeded: Seeded, binding: str | None) -> None:
    with seeded.bound(binding) as app:
        seen = {table.name: _tenants_seen(app, table) for table in seeded.tables}
    assert seen == {table.name: set() for table in seeded.tables}


@pytest.mark.parametrize("binding", ["x", "*", "' OR true --", "00000000-0000-0000-0000-000000000000 "])
def test_a_binding_that_is_no_tenant_shows_nothing(seeded: Seeded, binding: str) -> None:
    for table in seeded.tables:
        try:
            with seeded.bound(binding) as app:
                assert not _tenants_seen(app, table) & set(seeded.rows)
        except errors.InvalidTextRepresentation:
            continue


def test_a_row_of_another_tenant_cannot_be_added(seeded: Seeded) -> None:
    for table in seeded.tables:
        fresh = row_of(table, seeded.other, seeded.rows[seeded.other])
        with pytest.raises(REFUSED), seeded.bound(str(seeded.mine)) as app:
            insert(app, table, fresh)


def test_a_key_that_another_tenant_has_is_refused_for_its_tenant_and_not_for_being_taken(
    seeded: Seeded,
) -> None:
    for table in seeded.mine_to_insert():
        with (
            pytest.raises(errors.InsufficientPrivilege, match="row-level security"),
            seeded.bound(str(seeded.mine)) as app,
        ):
            insert(app, table, seeded.rows[seeded.other][table.name])


def test_without_a_binding_nothing_can_be_added(seeded: Seeded) -> None:
    for table in seeded.tables:
        for binding in (None, ""):
            with pytest.raises(REFUSED), seeded.bound(binding) as app:
                insert(app, table, row_of(table, seeded.mine, seeded.rows[seeded.mine]))


def test_a_row_cannot_be_moved_to_another_tenant(seeded: Seeded) -> None:
    for table in seeded.tables:
        move = sql.SQL("UPDATE {} SET tenant_id = %s WHERE tenant_id = %s").format(table.sql)
        with pytest.raises(REFUSED), seeded.bound(str(seeded.mine)) as app:
            app.execute(move, [seeded.other, seeded.mine])


@pytest.mark.parametrize("verb", ["UPDATE {} SET tenant_id = tenant_id", "DELETE FROM {}"])
def test_changes_reach_no_row_of_another_tenant(
    seeded: Seeded, superuser: psycopg.Connection, verb: str
) -> None:
    for table in seeded.tables:
        change = sql.SQL(verb + " WHERE tenant_id = %s").format(table.sql)  # type: ignore[arg-type]
        try:
            with seeded.bound(str(seeded.mine)) as app:
                assert app.execute(change, [seeded.other]).rowcount == 0, table.name
        except errors.InsufficientPrivilege:
            continue


def test_a_row_cannot_hang_from_another_tenants(seeded: Seeded) -> None:
    tried = 0
    for table in seeded.mine_to_insert():
        for key in table.foreign_keys:
            if len(key.columns) < 2:
                continue
            fresh = row_of(table, seeded.mine, seeded.rows[seeded.mine])
            parent = seeded.rows[seeded.other][key.target]
            fresh |= dict(zip(key.columns, (parent[c] for c in key.target_columns), strict=True))
            with pytest.raises(errors.ForeignKeyViolation), seeded.bound(str(seeded.mine)) as app:
                insert(app, table, fresh | {"tenant_id": seeded.mine})
            tried += 1
    assert tried > 8


WITHOUT_TENANT = {"provider_endpoints"}
"""What rows of every tenant may point at; whether it serves the tenant is looked at with each use."""


def test_every_foreign_key_keeps_the_tenant(seeded: Seeded) -> None:
    for table in seeded.tables:
        for key in table.foreign_keys:
            if key.target in WITHOUT_TENANT:
                continue
            pairs = dict(zip(key.columns, key.target_columns, strict=True))
            assert pairs["tenant_id"] == "tenant_id", key
