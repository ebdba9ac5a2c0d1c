"""One row of any table, made from what the catalogue says of its columns, keys and checks.

A new table is seeded without a word here, unless a check of its asks for more than its types tell;
then the insert fails by the table's name, and `WANTED` takes the value that fits.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

ENDPOINT = UUID("6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01")
"""What a made-up model is on; whoever seeds puts it there."""

WANTED: Mapping[tuple[str, str], Any] = {
    ("audit_events", "hash"): b"\0" * 32,
    ("kb_chunks", "end_offset"): 2,
    # The job itself makes the first one.
    ("job_events", "seq"): 2,
    ("kill_switches", "scope"): "tenant",
    ("models", "endpoint_id"): ENDPOINT,
    ("source_connectors", "name"): "a source",
    ("kb_chunks", "embedding"): b"\0" * 4,
}
"""What a check asks for that is not a list of words."""

_WORDS = re.compile(r"'([^']*)'::text")
_NOW = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Column:
    """A column that an insert must name."""

    name: str
    type: str
    words: Sequence[str]


@dataclass(frozen=True)
class ForeignKey:
    """From columns of a table to columns of another, in the same order."""

    table: str
    columns: Sequence[str]
    target: str
    target_columns: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table of tenants."""

    name: str
    columns: Sequence[Column]
    key: Sequence[str]
    foreign_keys: Sequence[ForeignKey]

    @property
    def sql(self) -> sql.Composable:
        return sql.Identifier("eai", self.name)


Row = dict[str, Any]


def tenant_tables(admin: psycopg.Connection) -> list[Table]:
    """Every table with a `tenant_id`, those that others point at first."""
    names = [name for (name,) in admin.execute(_TABLES)]
    found = {name: _table(admin, name) for name in names}
    ordered: list[Table] = []
    while found:
        free = [
            t for t in found.values() if not {k.target for k in t.foreign_keys} & (found.keys() - {t.name})
        ]
        assert free, f"these point at each other: {sorted(found)}"
        ordered += free
        for table in free:
            del found[table.name]
    return ordered


def row_of(table: Table, tenant: UUID, parents: Mapping[str, Row]) -> Row:
    """A new row for `tenant`, under the `parents` that its keys point at."""
    row: Row = {column.name: _value(table, column, tenant) for column in table.columns}
    for key in table.foreign_keys:
        row |= {
            column: parents[key.target][target]
            for column, target in zip(key.columns, key.target_columns, strict=True)
            if column in row and key.target in parents
        }
    return row | {"tenant_id": tenant}


def insert(connection: psycopg.Connection, table: Table, row: Row) -> None:
    """Insert it, as whoever `connection` is."""
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        table.sql,
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(sql.Placeholder() * len(row)),
    )
    connection.execute(statement, list(row.values()))


def seed(admin: psycopg.Connection, tables: Sequence[Table], tenant: UUID) -> dict[str, Row]:
    """One row of `tenant` in every table."""
    rows: dict[str, Row] = {}
    for table in tables:
        rows[table.name] = row_of(table, tenant, rows)
        try:
            insert(admin, table, rows[table.name])
        except psycopg.Error as error:
            message = f"no row for eai.{table.name} can be made up; see WANTED"
            raise AssertionError(message) from error
    return rows


def add_endpoint(admin: psycopg.Connection) -> None:
    """The endpoint that made-up models are on; it belongs to no tenant."""
    admin.execute(
        """
        INSERT INTO eai.provider_endpoints (id, name, kind, region, retention, classification_ceiling)
        VALUES (%s, 'made-up', 'openai', 'eu', 'none', 4) ON CONFLICT DO NOTHING""",
        [ENDPOINT],
    )


def marker(tenant: UUID) -> str:
    """What stands in every text that was made up for `tenant`."""
    return f"only-for-{tenant}"


def _value(table: Table, column: Column, tenant: UUID) -> Any:
    if (table.name, column.name) in WANTED:
        return WANTED[table.name, column.name]
    if column.words:
        return column.words[0]
    made = {
        "uuid": uuid4,
        "text": lambda: f"{marker(tenant)}-{uuid4().hex}",
        "_text": lambda: [marker(tenant)],
        "_uuid": lambda: [uuid4()],
        "_int4": lambda: [1],
        "int2": lambda: 1,
        "int4": lambda: 1,
        "int8": lambda: 1,
        "float4": lambda: 1.0,
        "bool": lambda: False,
        "bytea": lambda: marker(tenant).encode(),
        "jsonb": lambda: Jsonb({"text": marker(tenant)}),
        "timestamptz": lambda: _NOW,
    }
    assert column.type in made, f"eai.{table.name}.{column.name}: no value for type {column.type}"
    return made[column.type]()


def _table(admin: psycopg.Connection, name: str) -> Table:
    checks = [text for (text,) in admin.execute(_CHECKS, [name])]
    columns = [
        Column(column, type_, list(_words_of(column, checks)))
        for column, type_ in admin.execute(_COLUMNS, [name])
    ]
    keys = [ForeignKey(name, *row) for row in admin.execute(_FOREIGN_KEYS, [name])]
    (key,) = admin.execute(_PRIMARY_KEY, [name]).fetchone() or ([],)
    return Table(name, columns, key, keys)


def _words_of(column: str, checks: Sequence[str]) -> Iterator[str]:
    for check in checks:
        if check.startswith(f"CHECK (({column} = ANY"):
            yield from _WORDS.findall(check)


_TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
     WHERE n.nspname = 'eai' AND c.relkind IN ('r', 'p') ORDER BY c.relname"""
_COLUMNS = """
    SELECT a.attname, t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
     WHERE a.attrelid = ('eai.' || quote_ident(%s))::regclass AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' ORDER BY a.attnum"""
_CHECKS = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
     WHERE conrelid = ('eai.' || quote_ident(%s))::regclass AND contype = 'c'"""
_PRIMARY_KEY = """
    SELECT ARRAY(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY AS k (number, place)
                   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number ORDER BY k.place)
      FROM pg_constraint c WHERE c.conrelid = ('eai.' || quote_ident(%s))::regclass AND c.contype = 'p'"""
_FOREIGN_KEYS = """
    SELECT ARRAY(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY AS k (number, place)
                   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number ORDER BY k.place),
           t.relname,
           ARRAY(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY AS k (number, place)
                   JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.number ORDER BY k.place)
      FROM pg_constraint c JOIN pg_class t ON t.oid = c.confrelid
     WHERE c.conrelid = ('eai.' || quote_ident(%s))::regclass AND c.contype = 'f'"""
