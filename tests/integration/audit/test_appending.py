"""How entries come into a chain: attack lines 91 and 94, faults 15 and 38."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import orjson
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.actions import AuditAction
from eai.audit.chain import GENESIS, body_digest, link
from eai.audit.details import Details
from eai.audit.entries import AuditEntry, Evidence, UsageRow
from eai.audit.errors import AuditUnavailable
from eai.audit.repository import AuditRows
from eai.audit.service import Audit
from eai.kernel.ids import DocumentId, TenantId
from eai.platform.context import WorkContext, enter_work
from eai.platform.database import Database
from tests.conftest import DatabaseUrls
from tests.integration.audit.conftest import ACTOR, SHORT_DEADLINE_S, MovableClock, read_of, stored_hashes

QUERY = AuditAction.KNOWLEDGE_QUERY


async def count(database: Database, tenant: TenantId, table: str) -> int:
    async with database.transaction(tenant) as session:
        return int((await session.execute(text(f"SELECT count(*) FROM eai.{table}"))).scalar_one())


async def mutate(audit: Audit, session: AsyncSession, tenant: TenantId) -> int:
    """A mutation: a row, then its event as the last statement."""
    await session.execute(
        text("INSERT INTO eai.tenant_keys (tenant_id, purpose, wrapped) VALUES (:tenant, :purpose, '')"),
        {"tenant": tenant, "purpose": str(uuid4())},
    )
    return await audit.record(session, ACTOR, AuditAction.SETTINGS_UPDATE, tenant=tenant)


async def record_and_roll_back(database: Database, audit: Audit, tenant: TenantId) -> None:
    with suppress(InterruptedError):
        async with database.transaction(tenant) as session:
            await audit.record(session, ACTOR, QUERY, tenant=tenant, private={"name": "Ann"})
            raise InterruptedError


async def mutate_impatiently(database: Database, audit: Audit, tenant: TenantId) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(text("SET LOCAL lock_timeout = '100ms'"))
        await mutate(audit, session, tenant)


@asynccontextmanager
async def held(database_urls: DatabaseUrls, tenant: TenantId) -> AsyncIterator[None]:
    """Somebody sits on the head of the chain."""
    async with await psycopg.AsyncConnection.connect(database_urls.admin) as connection:
        statement = "SELECT 1 FROM eai.audit_heads WHERE tenant_id = %s FOR UPDATE"
        assert (await connection.execute(statement, [tenant])).rowcount == 1
        yield


async def test_sql_and_python_give_the_same_chain(database: Database, audit: Audit, tenant: TenantId) -> None:
    async with database.transaction(tenant) as session:
        seqs = [await mutate(audit, session, tenant) for _ in range(2)]
    await audit.flush(read_of(tenant, query="où?"))
    async with database.transaction(tenant) as session:
        rows = AuditRows(session, tenant)
        (block,) = await rows.blocks(0, 100, 100)
        head, last = await rows.stated()
    expected, previous = [], GENESIS
    for seq, body in enumerate(block.bodies, 1):
        previous = link(previous, seq, body_digest(body))
        expected.append(previous)
    assert seqs == [1, 2]
    assert list(block.seqs) == [1, 2, 3, 4]
    assert list(block.hashes) == expected
    assert (head.seq, head.hash, last) == (4, previous, 4)


async def test_an_entry_says_who_did_what_when_and_for_which_request(
    database: Database, audit: Audit, tenant: TenantId
) -> None:
    enter_work(WorkContext("req_7", "trace_7"))
    await audit.flush(read_of(tenant, query="who earns what?"))
    async with database.transaction(tenant) as session:
        (block,) = await AuditRows(session, tenant).blocks(1, 100, 100)
    assert block.columns[0] == [
        "2026-01-31T12:00:00.000000Z",
        "knowledge.query",
        "allow",
        "00000000-0000-0000-0000-000000000001",
        "knowledge_base",
        "kb-1",
    ]
    fields = orjson.loads(block.bodies[0])
    assert (fields["request_id"], fields["trace_id"]) == ("req_7", "trace_7")
    assert len(fields["details_commitment"]) == 64
    assert b"earns" not in block.bodies[0]


async def test_usage_and_shown_documents_are_written_with_their_events(
    database: Database, audit: Audit, tenant: TenantId
) -> None:
    enter_work(WorkContext("req_8"))
    evidence = read_of(tenant)
    again = Evidence(entries=evidence.entries[1:], retrieved=evidence.retrieved)
    await audit.flush(evidence)
    await audit.flush(again)
    async with database.transaction(tenant) as session:
        usage = (await session.execute(text("SELECT * FROM eai.usage_events"))).mappings().one()
        shown = (await session.execute(text("SELECT * FROM eai.kb_document_retrievals"))).mappings().one()
    assert usage["tenant_id"] == tenant
    assert (usage["kind"], usage["unit"], usage["quantity"]) == ("embedding", "tokens", 7)
    assert (usage["model"], usage["request_id"], usage["labels"]) == (
        "local-hash-256",
        "req_8",
        {"project": "p"},
    )
    assert (shown["document_id"], shown["retrieval_count"]) == (evidence.retrieved[0], 2)


async def test_evidence_of_two_tenants_goes_to_two_chains(
    database: Database, audit: Audit, tenant: TenantId, other_tenant: TenantId
) -> None:
    await audit.flush(read_of(tenant) + Evidence(entries=(AuditEntry(other_tenant, QUERY, ACTOR),)))
    assert len(await stored_hashes(database, tenant)) == 2
    assert len(await stored_hashes(database, other_tenant)) == 1


async def test_a_rolled_back_mutation_leaves_neither_entry_nor_gap(
    database: Database, audit: Audit, tenant: TenantId
) -> None:
    await record_and_roll_back(database, audit, tenant)
    async with database.transaction(tenant) as session:
        assert await mutate(audit, session, tenant) == 1


async def test_a_private_value_can_be_sealed_after_the_key_was_lost_to_a_rollback(
    database: Database, audit: Audit, details: Details, tenant: TenantId
) -> None:
    await record_and_roll_back(database, audit, tenant)
    await audit.flush(read_of(tenant, query="who?"))
    assert await count(database, tenant, "audit_detail_keys") == 1
    assert await count(database, tenant, "audit_details") == 1


async def test_many_writers_on_one_head_stay_dense(
    database: Database, details: Details, clock: MovableClock, tenant: TenantId
) -> None:
    """64 writers: mutations and grouped reads of two processes' worth of logs, all on one chain."""
    processes = [Audit(database, details, clock) for _ in range(2)]

    async def mutation(number: int) -> None:
        async with database.transaction(tenant) as session:
            await mutate(processes[number % 2], session, tenant)

    mutations = [mutation(number) for number in range(32)]
    reads = [processes[number % 2].flush(read_of(tenant, query="?")) for number in range(32)]
    await asyncio.gather(*mutations, *reads)
    assert len(await stored_hashes(database, tenant)) == 32 + 2 * 32
    assert await count(database, tenant, "tenant_keys") == 32
    assert await count(database, tenant, "usage_events") == 32


async def test_without_a_tenant_nothing_can_be_appended(database: Database) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="no tenant is bound"):
        await database.statement("SELECT eai.audit_append(%(body)s, NULL, NULL, NULL)", {"body": b"{}"})


async def test_an_entry_of_another_tenant_is_refused(
    database: Database, audit: Audit, tenant: TenantId, other_tenant: TenantId
) -> None:
    with pytest.raises(AuditUnavailable):
        async with database.transaction(tenant) as session:
            await audit.record(session, ACTOR, QUERY, tenant=other_tenant)
    assert await stored_hashes(database, tenant) == []
    assert await stored_hashes(database, other_tenant) == []


class TestHeldHead:
    """Fault 38: the head of one chain is held for longer than anybody may wait."""

    @pytest.fixture(autouse=True)
    async def _chains(self, audit: Audit, tenant: TenantId, other_tenant: TenantId) -> None:
        await audit.flush(read_of(tenant))
        await audit.flush(read_of(other_tenant))

    async def test_a_mutation_rolls_back(
        self, database: Database, database_urls: DatabaseUrls, audit: Audit, tenant: TenantId
    ) -> None:
        async with held(database_urls, tenant):
            with pytest.raises(AuditUnavailable):
                await mutate_impatiently(database, audit, tenant)
        assert await count(database, tenant, "tenant_keys") == 0
        async with database.transaction(tenant) as session:
            assert await mutate(audit, session, tenant) == 3

    async def test_a_read_is_refused_whole(
        self, database: Database, database_urls: DatabaseUrls, audit: Audit, tenant: TenantId
    ) -> None:
        async with held(database_urls, tenant):
            with pytest.raises(AuditUnavailable):
                await audit.flush(read_of(tenant))
        assert await count(database, tenant, "audit_events") == 2
        assert await count(database, tenant, "usage_events") == 1
        assert await count(database, tenant, "kb_document_retrievals") == 1

    async def test_other_tenants_are_not_held_up(
        self,
        database: Database,
        database_urls: DatabaseUrls,
        audit: Audit,
        tenant: TenantId,
        other_tenant: TenantId,
    ) -> None:
        async with held(database_urls, tenant):
            stuck = asyncio.create_task(audit.flush(read_of(tenant)))
            async with asyncio.timeout(SHORT_DEADLINE_S / 2):
                await audit.flush(read_of(other_tenant))
                await audit.flush(read_of(other_tenant))
            assert not stuck.done()
            assert await count(database, other_tenant, "audit_events") == 6
        await stuck
        assert len(await stored_hashes(database, tenant)) == 4


async def test_a_chain_that_is_just_being_begun_does_not_hold_up_another(
    database: Database, audit: Audit, tenant: TenantId, other_tenant: TenantId
) -> None:
    async with database.transaction(tenant) as session:
        await mutate(audit, session, tenant)
        stuck = asyncio.create_task(audit.flush(read_of(tenant)))
        async with asyncio.timeout(SHORT_DEADLINE_S / 2):
            await audit.flush(read_of(other_tenant))
        assert not stuck.done()
    await stuck
    assert len(await stored_hashes(database, tenant)) == 3


async def test_what_fails_for_one_tenant_undoes_that_tenants_part_only(
    database: Database, audit: Audit, tenant: TenantId, other_tenant: TenantId
) -> None:
    bad = Evidence(
        entries=(AuditEntry(tenant, QUERY, ACTOR),),
        usage=(UsageRow(tenant, "embedding", "tokens", 2**63),),
    )
    outcomes = await asyncio.gather(
        audit.flush(bad),
        audit.flush(read_of(tenant)),
        audit.flush(read_of(other_tenant)),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [AuditUnavailable, type(None), type(None)]
    assert await count(database, tenant, "audit_events") == 2
    assert await count(database, tenant, "usage_events") == 1
    assert len(await stored_hashes(database, tenant)) == 2


async def test_the_usage_of_a_refused_event_is_not_written(
    database: Database, audit: Audit, tenant: TenantId
) -> None:
    with pytest.raises(ValueError, match="documents were shown"):
        await audit.flush(Evidence(retrieved=(DocumentId(uuid4()),)))
    await audit.flush(Evidence(usage=(UsageRow(tenant, "storage", "bytes", 1),)))
    await audit.flush(Evidence())
    assert await count(database, tenant, "usage_events") == 1
    assert await stored_hashes(database, tenant) == []
