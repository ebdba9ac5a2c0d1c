"""One version answers at a time, and the one before goes without a trace."""

from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.kernel.errors import NotFound
from eai.kernel.ids import DocumentId, VersionId
from eai.knowledge.bases.schemas import BaseOut
from eai.knowledge.documents.drafts import DocumentChanges, DocumentDraft, StoredVersion, VersionDraft
from eai.knowledge.documents.intake import (
    create_document_with_version,
    discard_version,
    set_version_status,
)
from eai.knowledge.documents.replacing import add_version
from eai.knowledge.documents.schemas import DocumentStatus
from eai.knowledge.documents.serving import VersionOutdated
from tests.factories.identity import Person
from tests.factories.knowledge import Draft, Knowledge, me, points_of
from tests.integration.knowledge.recount import misplaced, recounted, stored


async def replace(
    knowledge: Knowledge, by: Person, base: BaseOut, document: DocumentId, *passages: str, **changes: Any
) -> Draft:
    """Another version, up to where its points are written."""
    handle = await knowledge.handle(by, base)
    content = "\n".join(passages)
    version = VersionDraft(VersionId(uuid4()), "text/plain", sha256(content.encode()).digest())
    wanted = DocumentChanges(frozenset(changes) - {"reason"}, **changes)
    async with knowledge.database.transaction(by.subject.tenant) as session:
        new = await add_version(session, knowledge.jobs, by.subject, handle, document, version, wanted)
    return await knowledge.draft(by, base, *passages, version=new)


async def test_a_replacement_takes_over_whole(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    first = await knowledge.draft(admin, base, "old words", "older words")
    await knowledge.serve(first)
    second = await replace(knowledge, admin, base, first.stored.document, "new words", title="New")
    shown = await knowledge.show(admin, base, first.stored.document)
    assert (shown.version, shown.title, shown.chunks_count) == ("1", "A document", 2)
    assert shown.pending_version is not None
    assert (shown.pending_version.version, shown.pending_version.status) == ("2", DocumentStatus.PENDING)

    assert await knowledge.serve(second) == first.stored.version
    shown = await knowledge.show(admin, base, first.stored.document)
    assert (shown.version, shown.title, shown.chunks_count, shown.pending_version) == ("2", "New", 1, None)
    assert await stored(knowledge, second.base) == await recounted(knowledge, second.base)

    space = second.base.generation.space
    assert await knowledge.vectors.count(space, points_of(first)) == 2
    assert "knowledge.retire_version" in await knowledge.work(admin.subject.tenant)
    assert await knowledge.vectors.count(space, points_of(first)) == 0
    assert await knowledge.vectors.count(space, points_of(second)) == 1
    rows = await knowledge.rows(admin.subject.tenant, "SELECT content FROM eai.kb_chunks")
    assert rows == [("new words",)]
    assert await misplaced(knowledge, second.base) == []


async def test_serving_twice_is_serving_once(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text")
    await knowledge.serve(draft)
    assert await knowledge.serve(draft) is None
    assert await stored(knowledge, draft.base) == await recounted(knowledge, draft.base)


async def test_an_older_version_that_comes_late_is_dropped(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    first = await knowledge.draft(admin, base, "one")
    second = await replace(knowledge, admin, base, first.stored.document, "two")
    await knowledge.serve(second)
    with pytest.raises(VersionOutdated):
        await knowledge.serve(first)
    assert (await knowledge.show(admin, base, first.stored.document)).version == "2"


async def test_what_was_deleted_or_changed_meanwhile_does_not_come_back(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "one")
    await knowledge.deletions.delete(admin.subject, str(base.id), str(draft.stored.document), None)
    with pytest.raises(VersionOutdated):
        await knowledge.serve(draft)
    assert await knowledge.rows(admin.subject.tenant, "SELECT id FROM eai.kb_chunks") == []

    other = await knowledge.draft(admin, base, "two")
    changed = Draft(other.base, other.stored, b"another source", other.text, other.chunks)
    with pytest.raises(VersionOutdated):
        await knowledge.serve(changed)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await set_version_status(session, admin.subject.tenant, other.stored.version, "quarantined")
    with pytest.raises(VersionOutdated):
        await knowledge.serve(other)


async def test_a_base_that_goes_takes_its_drafts_along(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "one")
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await knowledge.base_deletions.begin(session, admin.subject, str(base.id), None)
    with pytest.raises(VersionOutdated):
        await knowledge.serve(draft)


async def test_until_the_swap_the_stricter_of_both_rights_holds(knowledge: Knowledge, admin: Person) -> None:
    ann = await knowledge.identity.person(admin, Role.MEMBER, clearance="restricted")
    bob = await knowledge.identity.person(admin, Role.MEMBER, clearance="restricted")
    base = await knowledge.base(admin, (me(ann), "read"), (me(bob), "read"))
    document = await knowledge.document(admin, base, "old", readers=frozenset({me(ann), me(admin)}))
    second = await replace(
        knowledge,
        admin,
        base,
        document,
        "new",
        readers=frozenset({me(bob), me(admin)}),
        classification=Classification.RESTRICTED,
    )
    row = await knowledge.row(second.base, document)
    assert row is not None
    assert (row.readers, row.classification) == ([me(admin)], Classification.RESTRICTED.rank)
    for person in (ann, bob):
        with pytest.raises(NotFound):
            await knowledge.show(person, base, document)
    await knowledge.serve(second)
    assert (await knowledge.show(bob, base, document)).version == "2"
    with pytest.raises(NotFound):
        await knowledge.show(ann, base, document)
    await knowledge.work(admin.subject.tenant)
    assert await misplaced(knowledge, second.base) == []


async def test_rights_set_while_a_replacement_is_on_its_way_win(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "old")
    second = await replace(knowledge, admin, base, document, "new", readers=None, title="New")
    await knowledge.set_acl(admin, base, document, readers=[me(admin)])
    await knowledge.serve(second)
    shown = await knowledge.show(admin, base, document)
    assert (shown.version, shown.title, shown.readers) == ("2", "New", [me(admin)])
    await knowledge.work(admin.subject.tenant)
    assert await misplaced(knowledge, second.base) == []


async def test_rights_changed_between_writing_and_serving_move_the_points(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text")
    await knowledge.set_acl(admin, base, draft.stored.document, readers=[me(admin)])
    await knowledge.serve(draft)
    assert await misplaced(knowledge, draft.base) != []
    await knowledge.work(admin.subject.tenant)
    assert await misplaced(knowledge, draft.base) == []


async def test_a_refused_version_leaves_nothing(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    first = await knowledge.draft(admin, base, "one")

    async def discard(stored: StoredVersion) -> None:
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            await discard_version(session, first.base, stored)

    await discard(first.stored)
    assert await knowledge.rows(admin.subject.tenant, "SELECT id FROM eai.kb_documents") == []
    served = await knowledge.draft(admin, base, "two")
    await knowledge.serve(served)
    second = await replace(knowledge, admin, base, served.stored.document, "three")
    await discard(second.stored)
    await discard(served.stored)
    shown = await knowledge.show(admin, base, served.stored.document)
    assert (shown.version, shown.pending_version) == ("1", None)


async def test_the_same_document_stored_twice_is_stored_once(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    handle = await knowledge.handle(admin, base)
    draft = DocumentDraft(id=DocumentId(uuid4()), title="x")
    version = VersionDraft(VersionId(uuid4()), "text/plain", b"hash")
    for _ in range(2):
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            made = await create_document_with_version(session, admin.subject, handle, draft, version)
        assert made == StoredVersion(draft.id, version.id, 1)
