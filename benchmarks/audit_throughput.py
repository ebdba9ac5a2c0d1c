"""How many audit events per second become durable.

`python -m benchmarks.audit_throughput [--write]`. Many callers of 100 tenants hand their evidence to the
product's `Audit.flush`, each waiting until its own is on disk. The floor, in the same run and with the same
bytes: one INSERT and one commit for as many entries, into a table with nothing but a key. Every commit
reaches the disk in both.
"""

import argparse
import asyncio
import itertools
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import psycopg

from benchmarks.evidence import TENANTS, model_event, query_evidence
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options, turns
from benchmarks.stage import running_postgres, temporary_home
from eai.audit.body import PrivateValues, entry_body
from eai.audit.details import Details
from eai.audit.entries import Evidence
from eai.audit.read_log import MAX_PORTIONS
from eai.audit.service import Audit
from eai.kernel.clock import SystemClock
from eai.kernel.ids import TenantId
from eai.platform.conninfo import libpq_conninfo
from eai.platform.context import WorkContext, enter_work
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey

WANTED = 5_000
_BARE, _EVENT, _QUERY, _BARE_QUERY = "bare event", "event", "query", "bare query"

Flush = Callable[[TenantId], Awaitable[int]]


class Product:
    """The product's own way: `Audit.flush`."""

    def __init__(self, database: Database) -> None:
        keyring = Keyring(MasterKey(bytes(range(32))), database)
        self._audit = Audit(database, Details(database, keyring), SystemClock())

    async def event(self, tenant: TenantId) -> int:
        """One event; how many that were."""
        await self._audit.flush(Evidence((model_event(tenant),)))
        return 1

    async def query(self, tenant: TenantId) -> int:
        """A query's evidence, its question sealed."""
        await self._audit.flush(query_evidence(tenant))
        return 2


class BareLog:
    """Rows of bytes, written in groups as large as the product's, one group at a time."""

    def __init__(self, connection: psycopg.AsyncConnection) -> None:
        self._connection = connection
        self._waiting: list[tuple[TenantId, bytes, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._event = _bytes_of(Evidence((model_event(TENANTS[0]),)))
        self._query = _bytes_of(query_evidence(TENANTS[0]))

    async def event(self, tenant: TenantId) -> int:
        await self._write(tenant, self._event)
        return 1

    async def query(self, tenant: TenantId) -> int:
        await self._write(tenant, self._query)
        return 2

    async def _write(self, tenant: TenantId, content: bytes) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((tenant, content, done))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all())
        await done

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:MAX_PORTIONS], self._waiting[MAX_PORTIONS:]
                tenants, contents, futures = zip(*group, strict=True)
                try:
                    await self._connection.execute(_INSERT, [[*tenants], [*contents]], prepare=True)
                except psycopg.Error as error:
                    _settle(futures, error)
                else:
                    _settle(futures, None)
        finally:
            self._writer = None


_INSERT = "INSERT INTO public.bare_log (tenant_id, body) SELECT * FROM unnest(%s::uuid[], %s::bytea[])"
_TABLE = """
    CREATE TABLE public.bare_log (
        id        bigserial PRIMARY KEY,
        tenant_id uuid NOT NULL,
        body      bytea NOT NULL
    )"""


def _settle(futures: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
    for future in futures:
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _bytes_of(evidence: Evidence) -> bytes:
    """As many bytes as the product stores of `evidence`: bodies, sealed details, usage."""
    work, now = WorkContext(), datetime.now(UTC)
    content = b""
    for entry in evidence.entries:
        private = PrivateValues.of(entry.private) if entry.private else None
        content += entry_body(entry, now, work, private)
        content += bytes(28 + len(private.salted)) if private else b""
    for row in evidence.usage:
        content += repr(row).encode()[:200]
    return content


async def rate(flush: Flush, callers: int, seconds: float) -> float:
    """Events per second over `seconds`, with so many callers who each wait for their own."""
    count = 0
    end = time.perf_counter() + seconds

    async def call(number: int) -> None:
        nonlocal count
        enter_work(WorkContext())
        for turn in itertools.count():
            if time.perf_counter() >= end:
                return
            written = await flush(TENANTS[(number + turn * 37) % len(TENANTS)])
            count += written

    start = time.perf_counter()
    await asyncio.gather(*(call(number) for number in range(callers)))
    return count / (time.perf_counter() - start)


async def durable(arguments: argparse.Namespace) -> dict[str, list[float]]:
    """The rates of both, round by round."""
    with temporary_home() as home:
        async with running_postgres(home) as postgres:
            _prepare(postgres.admin_url)
            database = Database(postgres.app_url)
            await database.open()
            conninfo = libpq_conninfo(postgres.app_url)
            async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
                product, bare = Product(database), BareLog(connection)
                ways: dict[str, Flush] = {
                    _BARE: bare.event,
                    _EVENT: product.event,
                    _BARE_QUERY: bare.query,
                    _QUERY: product.query,
                }
                rates: dict[str, list[float]] = {name: [] for name in ways}
                for tenant in TENANTS:  # one after the other: each makes the key that seals its questions
                    await product.query(tenant)
                for flush in ways.values():
                    await rate(flush, arguments.callers, 0.5)
                for number, order in turns(list(ways), arguments.rounds):
                    for name in order:
                        rates[name].append(await rate(ways[name], arguments.callers, arguments.seconds))
                        note(f"round {number + 1}, {name}: {rates[name][-1]:,.0f} events/s")
            await database.close()
    return rates


def _prepare(admin_url: str) -> None:
    with psycopg.connect(admin_url, autocommit=True) as connection:
        found = connection.execute("SHOW fsync").fetchone()
        if found != ("on",):
            raise RuntimeError("this measures nothing unless commits reach the disk")
        connection.execute(_TABLE)
        connection.execute("GRANT USAGE ON SCHEMA public TO eai_app")
        connection.execute("GRANT INSERT ON public.bare_log TO eai_app")
        connection.execute("GRANT USAGE ON SEQUENCE public.bare_log_id_seq TO eai_app")
        for tenant in TENANTS:
            connection.execute(
                "INSERT INTO eai.tenants (tenant_id, slug, name) VALUES (%s, %s, 'Benchmark')",
                [tenant, f"t-{tenant.hex}"],
            )


def report(rates: dict[str, list[float]], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    return "\n\n".join(
        [
            "## Audit throughput",
            f"`python -m benchmarks.audit_throughput --write`, {machine()}",
            _EXPLAINED.strip().format(
                callers=arguments.callers, seconds=arguments.seconds, group=MAX_PORTIONS, tenants=len(TENANTS)
            ),
            table(
                _HEAD, [_row("one event", rates, _BARE, _EVENT), _row("a query", rates, _BARE_QUERY, _QUERY)]
            ),
        ]
    )


def _row(what: str, rates: dict[str, list[float]], floor: str, ours: str) -> list[str]:
    return [
        what,
        *(f"{middle(rates[name]):,.0f}" for name in (floor, ours)),
        f"{min(rates[ours]):,.0f}",
        f"{middle(rates[ours]) / middle(rates[floor]):.2f}",
        wanted(f"≥ {WANTED:,}", holds=middle(rates[ours]) >= WANTED) if ours == _EVENT else "",
    ]


_HEAD = ["each caller hands over", "bare, events/s", "product, events/s", "worst round", "ratio", "wanted"]

_EXPLAINED = """
Durable events per second over {tenants} tenants, {callers} callers in one process who each wait for their
own, at most {group} callers' evidence in a commit; {seconds:g} s a round. The floor writes the same bytes in
groups of the same size with one INSERT and one commit, into a table with a key and nothing else: no chain, no
hash, no columns to ask by, no row level security. `a query` is what one query hands over: two events, of
which one with its question sealed, two usage rows, and the retrieval counts of five documents.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--callers", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each round")
    arguments = parser.parse_args(given)
    rates = asyncio.run(durable(arguments))
    publish("audit-throughput", report(rates, arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
