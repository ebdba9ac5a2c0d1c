"""What is deleted is out of sight at once and gone in the end, whatever interrupts it."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.integrations.qdrant.client import EngineVectors
from eai.kernel.errors import NotFound, PreconditionFailed
from eai.knowledge.documents.deletion import begin_deletion
from eai.knowledge.documents.schemas import ReceiptOut
from eai.knowledge.errors import PermissionMissing
from eai.knowledge.ports import VectorStoreUnavailable
from eai.knowledge.receipts.repository import ReceiptRows
from eai.knowledge.receipts.service import get_receipt
from eai.platform.database import Database
from eai.platform.jobs import Fenced
from tests.engine import running_engine
from tests.factories.identity import Identity, Person
from tests.factories.knowledge import Knowledge, me
from tests.integration.knowledge.recount import stored


async def receipt(knowledge: Knowledge, by: Person, reference: object) -> ReceiptOut:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        return await get_receipt(session, by.subject, str(reference))


async def test_a_document_goes_with_its_vectors_and_the_receipt_says_so(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "one", "two", "three")
    kept = await knowledge.document(admin, base, "four")
    handle = await knowledge.handle(admin, base)
    made = await knowledge.deletions.delete(admin.subject, str(base.id), str(document), None)
    assert (made.document_id, made.status) == (document, "deleted")
    assert (made.documents_removed, made.chunks_removed) == (1, 3)
    assert (made.vectors_removed, made.vectors_remaining) == (3, 0)
    assert made.generations == [handle.generation.id]
    assert made.completed_at is not None
    assert await receipt(knowledge, admin, document) == made
    assert await knowledge.count(handle, document) == 0
    assert await knowledge.count(handle) == 1
    tables = ("kb_documents", "kb_chunks", "kb_document_versions")
    for table in tables:
        assert len(await knowledge.rows(admin.subject.tenant, f"SELECT id FROM eai.{table}")) == 1
    with pytest.raises(NotFound):
        await knowledge.show(admin, base, document)
    assert (await knowledge.show(admin, base, kept)).chunks_count == 1
    events = await knowledge.rows(
        admin.subject.tenant,
        "SELECT action FROM eai.audit_events WHERE resource_id = :id ORDER BY seq",
        id=str(document),
    )
    assert events == [("knowledge.document.delete",), ("knowledge.document.deleted",)]
    jobs = await knowledge.rows(
        admin.subject.tenant, "SELECT state FROM eai.jobs WHERE name = 'knowledge.delete_document'"
    )
    assert jobs == [("completed",)]


async def test_no_statistics_are_left_of_the_last_document(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "one", "two")
    handle = await knowledge.handle(admin, base)
    assert (await stored(knowledge, handle))[0] != {}
    await knowledge.deletions.delete(admin.subject, str(base.id), str(document), None)
    assert await stored(knowledge, handle) == ({}, {})


async def test_who_may_delete(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    document = await knowledge.document(admin, base, "text")
    hidden = await knowledge.document(admin, base, "hidden", readers=frozenset())
    with pytest.raises(PermissionMissing):
        await knowledge.deletions.delete(reader.subject, str(base.id), str(document), None)
    for reference in (hidden, uuid4(), "nonsense"):
        with pytest.raises(NotFound):
            await knowledge.deletions.delete(reader.subject, str(base.id), str(reference), None)
    shown = await knowledge.show(admin, base, document)
    with pytest.raises(PreconditionFailed):
        await knowledge.deletions.delete(admin.subject, str(base.id), str(document), shown.revision + 1)
    # Whoever manages the base deletes also what the readers list hides from them.
    made = await knowledge.deletions.delete(admin.subject, str(base.id), str(hidden), None)
    assert made.vectors_removed == 1


async def test_of_two_deletions_one_finds_nothing_any_more(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "one", "two")
    outcomes = await asyncio.gather(
        *(knowledge.deletions.delete(admin.subject, str(base.id), str(document), None) for _ in range(3)),
        return_exceptions=True,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NotFound", "NotFound", "ReceiptOut"]


async def test_a_deletion_and_a_change_of_rights_take_turns(knowledge: Knowledge, admin: Person) -> None:
    for _ in range(5):
        base = await knowledge.base(admin)
        document = await knowledge.document(admin, base, "one", "two")
        handle = await knowledge.handle(admin, base)
        outcomes = await asyncio.gather(
            knowledge.deletions.delete(admin.subject, str(base.id), str(document), None),
            knowledge.set_acl(admin, base, document, readers=[me(admin)]),
            knowledge.set_acl(admin, base, document, classification="restricted"),
            return_exceptions=True,
        )
        assert isinstance(outcomes[0], ReceiptOut)
        assert {type(outcome).__name__ for outcome in outcomes[1:]} <= {"DocumentOut", "NotFound"}
        await knowledge.work(admin.subject.tenant)
        assert await knowledge.count(handle) == 0
        assert await stored(knowledge, handle) == ({}, {})
        assert await knowledge.queued(admin.subject.tenant) == []


async def test_a_deletion_and_a_replacement_leave_nothing(knowledge: Knowledge, admin: Person) -> None:
    for _ in range(5):
        base = await knowledge.base(admin)
        draft = await knowledge.draft(admin, base, "one")
        outcomes = await asyncio.gather(
            knowledge.serve(draft),
            knowledge.deletions.delete(admin.subject, str(base.id), str(draft.stored.document), None),
            return_exceptions=True,
        )
        assert isinstance(outcomes[1], ReceiptOut)
        assert outcomes[0] is None or type(outcomes[0]).__name__ == "VersionOutdated"
        await knowledge.work(admin.subject.tenant)
        assert await knowledge.rows(admin.subject.tenant, "SELECT id FROM eai.kb_chunks") == []
        assert await knowledge.count(draft.base) == 0
        assert await stored(knowledge, draft.base) == ({}, {})


async def test_with_the_engine_down_a_document_is_invisible_and_goes_later(
    database: Database, tmp_path: Path
) -> None:
    async with running_engine(tmp_path) as engine:
        vectors = EngineVectors(engine.socket, deadline_s=1.0)
        identity = Identity.over(database)
        knowledge = Knowledge.over(database, vectors, identity)
        admin = await identity.administrator()
        base = await knowledge.base(admin)
        document = await knowledge.document(admin, base, "one", "two")
        await knowledge.work(admin.subject.tenant)
        await engine.kill()

        with pytest.raises(VectorStoreUnavailable):
            await knowledge.deletions.delete(admin.subject, str(base.id), str(document), None)
        with pytest.raises(NotFound):
            await knowledge.show(admin, base, document)
        with pytest.raises(NotFound):
            await knowledge.deletions.delete(admin.subject, str(base.id), str(document), None)
        waiting = await receipt(knowledge, admin, document)
        assert (waiting.status, waiting.vectors_remaining) == ("deleting", None)
        ((_, job),) = await knowledge.queued(admin.subject.tenant)
        for _ in range(5):  # more often than a job may fail
            await knowledge.worker.run_one(admin.subject.tenant, job)
        assert await knowledge.queued(admin.subject.tenant) == [("knowledge.delete_document", job)]

        await engine.start()
        assert await knowledge.work(admin.subject.tenant) == ["knowledge.delete_document"]
        done = await receipt(knowledge, admin, document)
        assert (done.status, done.vectors_removed, done.vectors_remaining) == ("deleted", 2, 0)
        assert await knowledge.rows(admin.subject.tenant, "SELECT id FROM eai.kb_documents") == []
        await vectors.close()
        await identity.audit.close()


async def test_a_deletion_that_died_half_way_counts_what_it_had_removed(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "one", "two")
    handle = await knowledge.handle(admin, base)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await begin_deletion(session, knowledge.jobs, handle, document, None)
    job = next(job for name, job in await knowledge.queued(admin.subject.tenant) if "delete" in name)
    run = await knowledge.claim(admin.subject.tenant, job)
    found = await knowledge.count(handle, document)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await ReceiptRows(session, admin.subject.tenant).expect(document, found)
        await knowledge.jobs.confirm(session, run)
    await knowledge.vectors.delete(handle.generation.space, handle.generation.selector(document))
    # Here the process dies; its lease passes, and another attempt begins.
    await knowledge.rows(admin.subject.tenant, "UPDATE eai.jobs SET lease_until = now() - interval '1 s'")
    await knowledge.worker.run_one(admin.subject.tenant, job)
    done = await receipt(knowledge, admin, document)
    assert (done.status, done.chunks_removed, done.vectors_removed) == ("deleted", 2, 2)
    # The first process wakes up and finds itself fenced.
    with pytest.raises(Fenced):
        await knowledge.deletions.run(run)


async def test_deleted_text_may_come_again_as_a_new_document(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    first = await knowledge.document(admin, base, "the same", external_id="x")
    await knowledge.deletions.delete(admin.subject, str(base.id), str(first), None)
    second = await knowledge.document(admin, base, "the same", external_id="x")
    assert second != first
    assert (await knowledge.show(admin, base, second)).version == "1"


async def test_receipts_are_for_those_who_could_know_of_the_document(
    knowledge: Knowledge, admin: Person
) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    outsider = await knowledge.identity.person(admin, Role.MEMBER)
    auditor = await knowledge.identity.person(admin, Role.AUDITOR)
    stranger = await knowledge.identity.administrator()
    base = await knowledge.base(admin, (me(reader), "read"))
    shared = await knowledge.document(admin, base, "shared")
    named = await knowledge.document(admin, base, "named", readers=frozenset({me(admin)}))
    secret = await knowledge.document(admin, base, "secret", classification=Classification.SECRET)
    for document in (shared, named, secret):
        await knowledge.deletions.delete(admin.subject, str(base.id), str(document), None)
        assert (await receipt(knowledge, auditor, document)).status == "deleted"
        assert (await receipt(knowledge, admin, document)).status == "deleted"
        for person in (outsider, stranger):
            with pytest.raises(NotFound):
                await receipt(knowledge, person, document)
    assert (await receipt(knowledge, reader, shared)).document_id == shared
    for document in (named, secret):
        with pytest.raises(NotFound):
            await receipt(knowledge, reader, document)
    for reference in (uuid4(), "nonsense", "kb_x"):
        with pytest.raises(NotFound):
            await receipt(knowledge, admin, reference)


async def test_a_base_goes_with_everything_in_it(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin, name="going")
    for number in range(3):
        await knowledge.document(admin, base, f"text {number}", "more text")
    await knowledge.draft(admin, base, "on its way")
    handle = await knowledge.handle(admin, base)
    await knowledge.work(admin.subject.tenant)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        begun = await knowledge.base_deletions.begin(session, admin.subject, str(base.id), None)
    assert (begun.status, begun.document_id, begun.knowledge_base_id) == ("deleting", None, base.id)
    for reference in (base.id, base.alias):
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            with pytest.raises(NotFound):
                await knowledge.bases.get(session, admin.subject, str(reference))
    again = await knowledge.base(admin, name="going")
    assert again.alias == "kb_going"
    assert await knowledge.work(admin.subject.tenant) == ["knowledge.delete_base"]
    done = await receipt(knowledge, admin, base.id)
    assert (done.status, done.documents_removed, done.chunks_removed) == ("deleted", 4, 6)
    assert (done.vectors_removed, done.vectors_remaining) == (7, 0)
    assert await knowledge.count(handle) == 0
    for table in ("kb_documents", "kb_document_versions", "kb_chunks", "kb_term_statistics"):
        assert await knowledge.rows(admin.subject.tenant, f"SELECT 1 FROM eai.{table}") == []
    for table, column in (("knowledge_bases", "id"), ("kb_generations", "base_id")):
        left = await knowledge.rows(admin.subject.tenant, f"SELECT {column} FROM eai.{table}")
        assert left == [(again.id,)]


async def test_a_base_and_one_of_its_documents_may_go_at_once(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "one", "two")
    handle = await knowledge.handle(admin, base)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await begin_deletion(session, knowledge.jobs, handle, document, None)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await knowledge.base_deletions.begin(session, admin.subject, str(base.id), None)
    jobs = dict(await knowledge.queued(admin.subject.tenant))
    await knowledge.worker.run_one(admin.subject.tenant, jobs["knowledge.delete_base"])
    await knowledge.work(admin.subject.tenant)
    for reference in (base.id, document):
        assert (await receipt(knowledge, admin, reference)).status == "deleted"
    assert await knowledge.count(handle) == 0


async def test_only_managers_delete_a_base(knowledge: Knowledge, admin: Person) -> None:
    writer = await knowledge.identity.person(admin, Role.KB_MANAGER)
    base = await knowledge.base(admin, (me(writer), "write"))
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        with pytest.raises(PermissionMissing):
            await knowledge.base_deletions.begin(session, writer.subject, str(base.id), None)
