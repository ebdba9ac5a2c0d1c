"""The audit over real PostgreSQL, with a clock that tests move."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from eai.audit.actions import AuditAction
from eai.audit.checkpoint_rows import CheckpointRows, StoredCheckpoint
from eai.audit.details import Details
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource, UsageRow
from eai.audit.jobs import Cadence, Checkpointing
from eai.audit.ports import Anchor
from eai.audit.repository import AuditRows
from eai.audit.scan import scan
from eai.audit.schemas import EventOut, VerificationOut
from eai.audit.service import Audit
from eai.audit.signing import Signing
from eai.audit.trail import AuditTrail
from eai.integrations.anchor import FileAnchor
from eai.kernel.ids import ApiKeyId, DocumentId, PrincipalId, TenantId
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey
from tests.conftest import DatabaseUrls

ACTOR = Actor("user", PrincipalId(UUID(int=1)), ApiKeyId(UUID(int=2)))
SHORT_DEADLINE_S = 0.4
CADENCE = Cadence(events=50, interval=timedelta(seconds=60))


@dataclass(slots=True)
class MovableClock:
    moment: datetime = field(default_factory=lambda: datetime(2026, 1, 31, 12, 0, tzinfo=UTC))

    def now(self) -> datetime:
        return self.moment

    async def told(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


def someone() -> Actor:
    return Actor("user", PrincipalId(uuid4()), ApiKeyId(uuid4()))


def read_of(tenant: TenantId, **private: str) -> Evidence:
    """What a query leaves: two events, a usage row, and a document that was shown."""
    return Evidence(
        entries=(
            AuditEntry(tenant, AuditAction.MODEL_INVOKE, ACTOR, facts={"model": "local-hash-256"}),
            AuditEntry(
                tenant,
                AuditAction.KNOWLEDGE_QUERY,
                ACTOR,
                Resource("knowledge_base", "kb-1"),
                private=private,
            ),
        ),
        usage=(UsageRow(tenant, "embedding", "tokens", 7, model="local-hash-256", labels={"project": "p"}),),
        retrieved=(DocumentId(uuid4()),),
    )


class Superuser:
    """Somebody with every right on the database, and none outside it."""

    def __init__(self, url: str) -> None:
        self._url = url

    def execute(self, *statements: str, **parameters: object) -> list[Sequence[object]]:
        """Run statements in one transaction; the rows of the last."""
        with psycopg.connect(self._url) as connection:
            for statement in statements:
                cursor = connection.execute(statement, parameters)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []


@dataclass(frozen=True, slots=True)
class Ledger:
    """The chain of this test's tenant, and everything that may be asked about it."""

    tenant: TenantId
    database: Database
    audit: Audit
    trail: AuditTrail

    async def grow(self, events: int) -> None:
        for _ in range(events // 2):
            await self.audit.flush(read_of(self.tenant))

    async def hashes(self) -> list[bytes]:
        return await stored_hashes(self.database, self.tenant)

    async def checkpoints(self) -> list[StoredCheckpoint]:
        async with self.database.transaction(self.tenant) as session:
            return await CheckpointRows(session, self.tenant).between(0, None, 1_000)

    async def signed_seqs(self) -> list[int]:
        return [each.seq for each in await self.checkpoints()]

    async def events(self) -> list[EventOut]:
        async with self.database.transaction(self.tenant) as session:
            return await self.trail.events(session, self.tenant, after_seq=0, action=None, limit=100)

    async def verify(self) -> VerificationOut:
        return await self.trail.verify(self.database, self.tenant)

    async def export(self, after_seq: int = 0) -> bytes:
        pieces = self.trail.export(self.database, self.tenant, after_seq=after_seq)
        return b"".join([piece async for piece in pieces])


async def stored_hashes(database: Database, tenant: TenantId) -> list[bytes]:
    """The hashes of a chain that is sound in itself."""
    async with database.transaction(tenant) as session:
        run = scan(tenant, await AuditRows(session, tenant).blocks(0, 10**9, 10**6))
    if run is None:
        return []
    assert run.fault is None
    return run.hashes


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def keyring(database: Database) -> Keyring:
    return Keyring(MasterKey(b"m" * 32), database)


@pytest.fixture
def details(database: Database, keyring: Keyring) -> Details:
    return Details(database, keyring)


@pytest.fixture
def audit(database: Database, details: Details, clock: MovableClock) -> Audit:
    return Audit(database, details, clock, deadline_s=SHORT_DEADLINE_S)


@pytest.fixture
def other_process(database: Database, keyring: Keyring, clock: MovableClock) -> Audit:
    """The audit of a second process, which remembers keys of its own."""
    return Audit(database, Details(database, keyring), clock, deadline_s=SHORT_DEADLINE_S)


@pytest.fixture
def signing(keyring: Keyring, clock: MovableClock) -> Signing:
    return Signing(keyring, clock)


@pytest.fixture
def anchor_path(tmp_path: Path) -> Path:
    return tmp_path / "anchor" / "checkpoints.jsonl"


@pytest.fixture
def anchor(anchor_path: Path) -> Anchor:
    return FileAnchor(anchor_path)


@pytest.fixture
def checkpointing(database: Database, signing: Signing, anchor: Anchor, clock: MovableClock) -> Checkpointing:
    return Checkpointing(database, signing, anchor, clock.told, CADENCE)


@pytest.fixture
def trail(details: Details, signing: Signing, anchor: Anchor, clock: MovableClock) -> AuditTrail:
    return AuditTrail(details, signing, anchor, clock)


@pytest.fixture
def ledger(database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId) -> Ledger:
    return Ledger(tenant, database, audit, trail)


@pytest.fixture
def superuser(database_urls: DatabaseUrls) -> Superuser:
    return Superuser(database_urls.admin.replace("postgresql+psycopg", "postgresql"))
