"""Counts of retrievals end with their documents, also those that a late answer brings back."""

from uuid import uuid4

from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence
from eai.kernel.ids import DocumentId
from eai.knowledge.documents.counts import RetrievalCounts
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge

COUNTED = "SELECT document_id FROM eai.kb_document_retrievals ORDER BY document_id"


async def _retrieve(knowledge: Knowledge, by: Person, *documents: DocumentId) -> None:
    entry = AuditEntry(by.subject.tenant, AuditAction.KNOWLEDGE_QUERY, Actor.of(by.subject))
    await knowledge.identity.audit.flush(Evidence(entries=(entry,), retrieved=documents))


async def test_the_count_of_a_document_that_is_gone_goes_too(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    gone, kept = [await knowledge.document(admin, base, text) for text in ("one", "two")]
    await knowledge.deletions.delete(admin.subject, str(base.id), str(gone), None)
    await _retrieve(knowledge, admin, gone, kept)
    assert len(await knowledge.rows(admin.subject.tenant, COUNTED)) == 2
    await RetrievalCounts(knowledge.database).forget(admin.subject.tenant)
    assert [row.document_id for row in await knowledge.rows(admin.subject.tenant, COUNTED)] == [kept]


async def test_every_tenant_has_its_turn_once_an_hour(knowledge: Knowledge, admin: Person) -> None:
    counts = RetrievalCounts(knowledge.database)
    await _retrieve(knowledge, admin, DocumentId(uuid4()))
    await counts.forget_due()
    assert await knowledge.rows(admin.subject.tenant, COUNTED) == []
    await _retrieve(knowledge, admin, DocumentId(uuid4()))
    await counts.forget_due()
    assert len(await knowledge.rows(admin.subject.tenant, COUNTED)) == 1
    await RetrievalCounts(knowledge.database).forget_due()
    assert await knowledge.rows(admin.subject.tenant, COUNTED) == []
