"""How many audit events per second become durable, and how fast a chain is verified afterwards.

`python -m benchmarks.audit_throughput [--write]`. Many callers of 100 tenants hand their evidence to the
product's `Audit.flush`, each waiting until its own is on disk. The floor, in the same run and with the same
bytes: one INSERT and one commit for as many entries, into a table with nothing but a key. Every commit
reaches the disk in both.
"""

import argparse
import asyncio
import hashlib
import itertools
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from sqlalchemy import make_url

from benchmarks.report import machine, publish, table
from benchmarks.rounds import Stopwatch, middle, note, options, turns
from benchmarks.stage import running_postgres, temporary_home
from eai.audit.actions import AuditAction
from eai.audit.body import PrivateValues, entry_body
from eai.audit.chain import GENESIS, body_digest, link
from eai.audit.details import Details
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource, UsageRow
from eai.audit.export import event_lines, head_line, header_line
from eai.audit.offline import verify_export
from eai.audit.read_log import MAX_PORTIONS
from eai.audit.scan import BLOCK, Block
from eai.audit.service import Audit
from eai.audit.timestamps import timestamp
from eai.audit.verification import Head
from eai.kernel.clock import SystemClock
from eai.kernel.ids import ApiKeyId, DocumentId, PrincipalId, TenantId
from eai.platform.context import WorkContext, enter_work
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey

TENANTS = [TenantId(UUID(int=0x7000 + number)) for number in range(100)]
_PRINCIPALS = {tenant: PrincipalId(UUID(int=tenant.int + 2**64)) for tenant in TENANTS}
_KEYS = {tenant: ApiKeyId(UUID(int=tenant.int + 2**65)) for tenant in TENANTS}
_SHOWN = 5
_BARE, _EVENT, _QUERY, _BARE_QUERY = "bare event", "event", "query", "bare query"

Flush = Callable[[TenantId], Awaitable[int]]


def query_event(tenant: TenantId, documents: Sequence[DocumentId]) -> AuditEntry:
    """What a query leaves in the chain, with five passages shown."""
    return AuditEntry(
        tenant,
        AuditAction.KNOWLEDGE_QUERY,
        actor=_actor(tenant),
        resource=Resource("knowledge_base", str(tenant)),
        facts={
            "mode": "hybrid",
            "top_k": _SHOWN,
            "count": _SHOWN,
            "generation": str(tenant),
            "passages": [
                {"chunk": str(uuid4()), "document": str(document), "version": str(uuid4())}
                for document in documents
            ],
            "warnings": [],
            "results_sha256": hashlib.sha256(tenant.bytes).hexdigest(),
            "labels": {},
        },
        private={"query": "how long do we keep the invoices of suppliers"},
    )


def model_event(tenant: TenantId) -> AuditEntry:
    """What the embedding of its question leaves there."""
    return AuditEntry(
        tenant,
        AuditAction.MODEL_INVOKE,
        actor=_actor(tenant),
        resource=Resource("model", "local-hash-256"),
        facts={"operation": "query", "level": "internal", "texts": 1, "tokens": 9},
    )


def query_evidence(tenant: TenantId) -> Evidence:
    """All that one query hands over: two events, two charges, and the documents shown."""
    documents = tuple(DocumentId(UUID(int=tenant.int * 64 + secrets.randbelow(64))) for _ in range(_SHOWN))
    usage = [
        UsageRow(tenant, "rag", "retrieval_queries", 1, principal=_PRINCIPALS[tenant], api_key=_KEYS[tenant]),
        UsageRow(tenant, "embeddings", "tokens", 9, "local", "local", "local-hash-256", 9),
    ]
    entries = (model_event(tenant), query_event(tenant, documents))
    return Evidence(entries, tuple(usage), documents)


Kind = Callable[[TenantId], AuditEntry]
EXPORTS: dict[str, Sequence[Kind]] = {
    "small events": [model_event],
    "queries": [model_event, lambda tenant: query_event(tenant, [DocumentId(tenant)] * _SHOWN)],
}


def _actor(tenant: TenantId) -> Actor:
    return Actor("user", _PRINCIPALS[tenant], _KEYS[tenant])


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
            url = make_url(postgres.app_url).set(drivername="postgresql")
            bare_url = url.render_as_string(hide_password=False)
            async with await psycopg.AsyncConnection.connect(bare_url, autocommit=True) as connection:
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


def write_export(path: Path, events: int, kinds: Sequence[Kind]) -> int:
    """A chain as the product exports it, with events of these kinds in turn; returns the file's bytes."""
    tenant, previous = TENANTS[0], GENESIS
    with path.open("wb") as file:
        file.write(header_line(tenant, datetime.now(UTC)))
        for begin in range(0, events, BLOCK):
            seqs = range(begin + 1, min(begin + BLOCK, events) + 1)
            rows = []
            for seq in seqs:
                body, columns = _stored(kinds[seq % len(kinds)](tenant), seq)
                previous = link(previous, seq, body_digest(body))
                rows.append((seq, previous, body, columns))
            file.write(event_lines(Block(*zip(*rows, strict=True))))
        file.write(head_line(Head(events, previous)))
    return path.stat().st_size


def _stored(entry: AuditEntry, seq: int) -> tuple[bytes, list[str | None]]:
    """An entry's body, and the columns beside it."""
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=seq)
    assert entry.actor is not None
    assert entry.resource is not None
    columns = [timestamp(at), entry.action.value, entry.decision.value, str(entry.actor.principal)]
    private = PrivateValues.of(entry.private) if entry.private else None
    body = entry_body(entry, at, WorkContext(f"req_{seq:032x}"), private)
    return body, [*columns, entry.resource.kind, entry.resource.id]


def bare_hashing(path: Path) -> int:
    """The floor of verification: read every line and hash it, reading nothing in it."""
    lines = 0
    with path.open("rb") as file:
        digest = b""
        for line in file:
            digest = hashlib.sha256(digest + hashlib.sha256(line).digest()).digest()
            lines += 1
    return lines


def offline(arguments: argparse.Namespace) -> list[list[str]]:
    """A row for each kind of export and each way to go through it."""
    rows = []
    for name, kinds in EXPORTS.items():
        with temporary_home() as home:
            path = home / "export.jsonl"
            note(f"writing an export of {arguments.export_events:,} events ({name})")
            size = write_export(path, arguments.export_events, kinds)
            rows += [
                [
                    name,
                    f"{size / arguments.export_events:,.0f}",
                    way,
                    f"{middle(rates):,.0f}",
                    f"{min(rates):,.0f}",
                ]
                for way, rates in _read(path, arguments).items()
            ]
    return rows


def _read(path: Path, arguments: argparse.Namespace) -> dict[str, list[float]]:
    events = arguments.export_events
    ways: dict[str, Callable[[], object]] = {
        "bare hashing, one process": lambda: bare_hashing(path),
        "verification, one process": lambda: _verified(path, events, 1),
        "verification, every core": lambda: _verified(path, events, None),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number, order in turns(list(ways), arguments.rounds):
        for name in order:
            with Stopwatch() as watch:
                ways[name]()
            rates[name].append(events / watch.seconds)
            note(f"round {number + 1}, {name}: {rates[name][-1]:,.0f} events/s")
    return rates


def _verified(path: Path, events: int, processes: int | None) -> None:
    found = verify_export(path, processes=processes)
    if not found.valid or found.events != events:
        raise RuntimeError(f"the export does not verify: {found}")


def report(rates: dict[str, list[float]], checked: list[list[str]], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    pairs = (("one event", _BARE, _EVENT), ("a query's evidence", _BARE_QUERY, _QUERY))
    written = [
        [
            what,
            *(f"{middle(rates[name]):,.0f}" for name in (floor, ours)),
            f"{min(rates[ours]):,.0f}",
            f"{middle(rates[ours]) / middle(rates[floor]):.2f}",
        ]
        for what, floor, ours in pairs
    ]
    return "\n\n".join(
        [
            "## Audit throughput",
            f"`python -m benchmarks.audit_throughput --write`, {machine()}",
            _WRITTEN.strip().format(
                callers=arguments.callers, seconds=arguments.seconds, group=MAX_PORTIONS, tenants=len(TENANTS)
            ),
            table(
                ["each caller hands over", "bare, events/s", "product, events/s", "worst round", "ratio"],
                written,
            ),
            _VERIFIED.strip().format(events=arguments.export_events),
            table(["export", "bytes an event", "read by", "events/s", "worst round"], checked),
        ]
    )


_WRITTEN = """
Durable events per second over {tenants} tenants, {callers} callers in one process who each wait for their
own, at most {group} callers' evidence in a commit; {seconds:g} s a round, wanted ≥ 5,000. The floor writes
the same bytes in groups of the same size with one INSERT and one commit, into a table with a key and
nothing else: no chain, no hash, no columns to ask by, no row level security. `a query's evidence` is two
events, of which one with its question sealed, two usage rows and the retrieval counts of five documents.
"""

_VERIFIED = """
Offline verification of exports of {events:,} events, wanted ≥ 300,000/s on every core, as `eai audit verify`
runs. The floor reads the lines and hashes them, looking at nothing in them.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--callers", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each round")
    parser.add_argument("--export-events", type=int, default=600_000)
    arguments = parser.parse_args(given)
    rates = asyncio.run(durable(arguments))
    publish("audit-throughput", report(rates, offline(arguments), arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
