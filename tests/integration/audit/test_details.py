"""Private values: sealed beside the chain, readable for auditors, erasable for ever."""

import asyncio
from uuid import uuid4

import orjson
from sqlalchemy import text

from eai.audit.actions import AuditAction
from eai.audit.details import Details
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource
from eai.audit.schemas import EventOut
from eai.audit.service import Audit
from eai.audit.trail import AuditTrail
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey
from tests.integration.audit.conftest import MovableClock, Superuser, someone, stored_hashes

QUERY = AuditAction.KNOWLEDGE_QUERY
HOSTILE = 'Zoë\n\x1b[31m","decision":"allow\x00'


async def ask(audit: Audit, tenant: TenantId, actor: Actor, query: str) -> None:
    await audit.flush(Evidence(entries=(AuditEntry(tenant, QUERY, actor, private={"query": query}),)))


async def read(database: Database, trail: AuditTrail, tenant: TenantId) -> list[EventOut]:
    async with database.transaction(tenant) as session:
        return await trail.events(session, tenant, after_seq=0, action=None, limit=100)


async def erase(database: Database, details: Details, tenant: TenantId, actor: Actor) -> bool:
    assert actor.principal
    async with database.transaction(tenant) as session:
        return await details.erase(session, tenant, actor.principal)


async def test_an_auditor_reads_what_was_typed(
    database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId
) -> None:
    await ask(audit, tenant, someone(), HOSTILE)
    (event,) = await read(database, trail, tenant)
    assert (event.details_state, event.details) == ("readable", {"query": HOSTILE})


async def test_neither_chain_nor_details_hold_it_in_the_clear(
    database: Database, audit: Audit, tenant: TenantId, superuser: Superuser
) -> None:
    await ask(audit, tenant, someone(), "a very particular question")
    rows = superuser.execute(
        "SELECT e.body, d.sealed FROM eai.audit_events e JOIN eai.audit_details d USING (tenant_id, seq)"
        " WHERE tenant_id = %(tenant)s",
        tenant=tenant,
    )
    ((body, sealed),) = rows
    assert b"particular" not in bytes(body) + bytes(sealed)  # type: ignore[call-overload]


async def test_erasure_makes_it_unreadable_and_the_chain_still_verifies(
    database: Database, audit: Audit, details: Details, trail: AuditTrail, tenant: TenantId
) -> None:
    ann, bob = someone(), someone()
    await ask(audit, tenant, ann, "ann asks")
    await ask(audit, tenant, bob, "bob asks")
    before = await stored_hashes(database, tenant)
    assert await erase(database, details, tenant, ann)
    assert not await erase(database, details, tenant, ann)
    first, second = await read(database, trail, tenant)
    assert (first.details_state, first.details) == ("erased", None)
    assert (second.details_state, second.details) == ("readable", {"query": "bob asks"})
    assert await stored_hashes(database, tenant) == before


async def test_whoever_acts_after_an_erasure_gets_a_new_key(
    database: Database, audit: Audit, details: Details, trail: AuditTrail, tenant: TenantId
) -> None:
    ann = someone()
    await ask(audit, tenant, ann, "before")
    await erase(database, details, tenant, ann)
    await ask(audit, tenant, ann, "after")
    first, second = await read(database, trail, tenant)
    assert first.details_state == "erased"
    assert second.details == {"query": "after"}


async def test_an_erasure_counts_at_once_for_a_process_that_remembers_the_key(
    database: Database, other_process: Audit, details: Details, trail: AuditTrail, tenant: TenantId
) -> None:
    ann = someone()
    await ask(other_process, tenant, ann, "before")
    await erase(database, details, tenant, ann)
    await ask(other_process, tenant, ann, "meanwhile")
    assert [event.details_state for event in await read(database, trail, tenant)] == ["erased", "erased"]


async def test_what_is_about_a_principal_goes_with_that_principal(
    database: Database, audit: Audit, details: Details, trail: AuditTrail, tenant: TenantId
) -> None:
    administrator, ann = someone(), someone()
    async with database.transaction(tenant) as session:
        await audit.record(
            session,
            administrator,
            AuditAction.PRINCIPAL_CREATE,
            tenant=tenant,
            resource=Resource("principal", str(ann.principal)),
            private={"name": "Ann"},
        )
    await erase(database, details, tenant, ann)
    (event,) = await read(database, trail, tenant)
    assert event.details_state == "erased"


async def test_what_nobody_did_is_sealed_under_a_key_of_the_tenant(
    database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId
) -> None:
    async with database.transaction(tenant) as session:
        await audit.record(session, None, QUERY, tenant=tenant, private={"address": "192.0.2.1"})
    (event,) = await read(database, trail, tenant)
    assert event.details == {"address": "192.0.2.1"}
    assert event.actor is None


async def test_two_processes_that_begin_together_use_one_key(
    database: Database, trail: AuditTrail, keyring: Keyring, clock: MovableClock, tenant: TenantId
) -> None:
    ann = someone()
    processes = [Audit(database, Details(database, keyring), clock) for _ in range(4)]
    await asyncio.gather(*(ask(process, tenant, ann, "at once") for process in processes))
    events = await read(database, trail, tenant)
    assert [event.details for event in events] == [{"query": "at once"}] * 4


async def test_altered_details_are_told_from_erased_ones(
    database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId, superuser: Superuser
) -> None:
    await ask(audit, tenant, someone(), "altered")
    await ask(audit, tenant, someone(), "under another key")
    superuser.execute(
        "UPDATE eai.audit_details SET sealed = %(noise)s WHERE tenant_id = %(tenant)s AND seq = 1",
        "UPDATE eai.audit_details SET key_id = %(key)s WHERE tenant_id = %(tenant)s AND seq = 2",
        noise=bytes(80),
        key=uuid4(),
        tenant=tenant,
    )
    assert [event.details_state for event in await read(database, trail, tenant)] == ["altered", "erased"]


async def test_details_moved_to_another_entry_are_found_altered(
    database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId, superuser: Superuser
) -> None:
    ann = someone()
    await ask(audit, tenant, ann, "first")
    await ask(audit, tenant, ann, "second")
    superuser.execute(
        "UPDATE eai.audit_details d SET sealed = o.sealed FROM eai.audit_details o"
        " WHERE d.tenant_id = %(tenant)s AND o.tenant_id = d.tenant_id AND o.seq <> d.seq",
        tenant=tenant,
    )
    assert [event.details_state for event in await read(database, trail, tenant)] == ["altered", "altered"]


async def test_details_taken_away_are_found_altered(
    database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId, superuser: Superuser
) -> None:
    await ask(audit, tenant, someone(), "mine")
    superuser.execute("DELETE FROM eai.audit_details WHERE tenant_id = %(tenant)s", tenant=tenant)
    (event,) = await read(database, trail, tenant)
    assert event.details_state == "altered"


async def test_an_entry_whose_bytes_were_damaged_is_listed_all_the_same(
    database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId, superuser: Superuser
) -> None:
    await ask(audit, tenant, someone(), "mine")
    superuser.execute("UPDATE eai.audit_events SET body = '?' WHERE tenant_id = %(tenant)s", tenant=tenant)
    (event,) = await read(database, trail, tenant)
    assert (event.action, event.decision, event.facts) == ("knowledge.query", "allow", {})
    assert event.details_state == "altered"


async def test_another_master_key_opens_nothing(
    database: Database, audit: Audit, tenant: TenantId, clock: MovableClock, trail: AuditTrail
) -> None:
    await ask(audit, tenant, someone(), "mine")
    stranger = Details(database, Keyring(MasterKey(b"x" * 32), database))
    altered = AuditTrail(stranger, trail._signing, trail._anchor, clock)
    (event,) = await read(database, altered, tenant)
    assert (event.details_state, event.details) == ("altered", None)


async def test_events_are_listed_in_order_after_a_seq_and_of_one_action(
    database: Database, audit: Audit, trail: AuditTrail, tenant: TenantId, other_tenant: TenantId
) -> None:
    actor = someone()
    await ask(audit, other_tenant, actor, "not mine")
    for action in (QUERY, AuditAction.MODEL_INVOKE, QUERY, QUERY):
        await audit.flush(Evidence(entries=(AuditEntry(tenant, action, actor, facts={"n": 1}),)))
    async with database.transaction(tenant) as session:
        everything = await trail.events(session, tenant, after_seq=0, action=None, limit=100)
        some = await trail.events(session, tenant, after_seq=1, action="knowledge.query", limit=1)
    assert [(event.seq, event.action) for event in everything] == [
        (1, "knowledge.query"),
        (2, "model.invoke"),
        (3, "knowledge.query"),
        (4, "knowledge.query"),
    ]
    assert [event.seq for event in some] == [3]
    event = everything[0]
    assert event.actor
    assert event.actor.principal == str(actor.principal)
    assert (event.decision, event.facts, event.details_state) == ("allow", {"n": 1}, "none")
    async with database.transaction(tenant) as session:
        rows = await session.execute(text("SELECT body FROM eai.audit_events WHERE seq = 1"))
        assert orjson.loads(rows.scalar_one())["request_id"] == event.request_id
