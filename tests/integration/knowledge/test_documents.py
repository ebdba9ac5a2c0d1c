"""Documents: listed, shown, changed, and who may."""

from typing import Any
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.kernel.errors import NotFound, PreconditionFailed
from eai.kernel.ids import DocumentId, VersionId
from eai.kernel.paging import PageRequest
from eai.knowledge.bases.schemas import BaseOut
from eai.knowledge.documents.drafts import DocumentDraft, SpanRights, VersionDraft
from eai.knowledge.documents.intake import find_duplicate, set_version_status
from eai.knowledge.documents.schemas import DocumentOut, DocumentPatch, DocumentStatus
from eai.knowledge.documents.view_rows import DocumentFilter
from eai.knowledge.errors import ExternalIdExists, PermissionMissing
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge, me


async def titles(knowledge: Knowledge, by: Person, base: BaseOut, **wanted: Any) -> list[str]:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        page = await knowledge.documents.page(
            session, by.subject, str(base.id), DocumentFilter(**wanted), PageRequest(200)
        )
    return [document.title for document in page.items]


async def patch(
    knowledge: Knowledge,
    by: Person,
    base: BaseOut,
    document: DocumentId,
    revision: int | None = None,
    **fields: Any,
) -> DocumentOut:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        return await knowledge.documents.patch(
            session, by.subject, str(base.id), str(document), DocumentPatch(**fields), revision=revision
        )


async def test_a_served_document_shows_what_is_known_of_it(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(
        admin, base, "one", "two", title="Terms", source_uri="https://x.example/terms", metadata={"k": 1}
    )
    shown = await knowledge.show(admin, base, document)
    assert (shown.title, shown.status, shown.version) == ("Terms", DocumentStatus.READY, "1")
    assert (shown.chunks_count, shown.pending_version, shown.error) == (2, None, None)
    assert (shown.source_uri, shown.source_connector) == ("https://x.example/terms", "direct")
    assert (shown.language, shown.metadata, shown.retrieval_count) == ("en", {"k": 1}, 0)
    assert shown.content_hash is not None


async def test_a_document_on_its_way_shows_how_far_it_is(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text")
    shown = await knowledge.show(admin, base, draft.stored.document)
    assert (shown.status, shown.chunks_count) == (DocumentStatus.PENDING, 0)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await set_version_status(
            session, admin.subject.tenant, draft.stored.version, "failed", error={"code": "content_empty"}
        )
    shown = await knowledge.show(admin, base, draft.stored.document)
    assert shown.error is not None
    assert (shown.status, shown.error.code) == (DocumentStatus.FAILED, "content_empty")


async def test_a_version_that_answers_keeps_its_status(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text")
    await knowledge.serve(draft)
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await set_version_status(session, admin.subject.tenant, draft.stored.version, "failed")
        await set_version_status(session, admin.subject.tenant, VersionId(uuid4()), "failed")
    assert (await knowledge.show(admin, base, draft.stored.document)).status is DocumentStatus.READY


async def test_lists_are_filtered_and_show_only_what_one_may_see(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    await knowledge.document(admin, base, "a", title="Travel policy 100%", external_id="a-1")
    await knowledge.document(admin, base, "b", title="Board paper", classification=Classification.SECRET)
    await knowledge.document(admin, base, "c", title="For Bob", readers=frozenset({me(admin)}))
    await knowledge.draft(admin, base, "d", title="On its way")
    assert await titles(knowledge, admin, base) == [
        "Travel policy 100%",
        "Board paper",
        "For Bob",
        "On its way",
    ]
    assert await titles(knowledge, reader, base) == ["Travel policy 100%"]
    assert await titles(knowledge, admin, base, status="pending") == ["On its way"]
    assert await titles(knowledge, admin, base, q="PAPER") == ["Board paper"]
    assert await titles(knowledge, admin, base, q="0%") == ["Travel policy 100%"]
    assert await titles(knowledge, admin, base, q="_ravel") == []
    assert await titles(knowledge, admin, base, external_id="a-1") == ["Travel policy 100%"]
    assert await titles(knowledge, admin, base, q="' OR true --") == []


async def test_an_administrator_without_read_sees_metadata_but_nothing_above_its_clearance(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    clerk = await knowledge.identity.person(admin, Role.TENANT_ADMIN, clearance="internal")
    await knowledge.document(admin, base, "a", title="For nobody", readers=frozenset())
    await knowledge.document(admin, base, "b", title="Secret", classification=Classification.SECRET)
    assert await titles(knowledge, clerk, base) == ["For nobody"]


async def test_pages_of_documents_follow_each_other(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    for number in range(5):
        await knowledge.draft(admin, base, f"text {number}", title=f"{number}")
    seen, after = [], None
    while True:
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            page = await knowledge.documents.page(
                session, admin.subject, str(base.id), DocumentFilter(), PageRequest(2, after)
            )
        seen += [document.title for document in page.items]
        after = page.next_key
        if after is None:
            break
    assert seen == ["0", "1", "2", "3", "4"]


async def test_hidden_foreign_and_malformed_documents_are_alike(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    elsewhere = await knowledge.base(admin, (me(reader), "read"))
    hidden = await knowledge.document(admin, base, "a", readers=frozenset({me(admin)}))
    other = await knowledge.document(admin, elsewhere, "b")
    for reference in (hidden, other, uuid4(), "nonsense", base.alias):
        async with knowledge.database.transaction(reader.subject.tenant) as session:
            with pytest.raises(NotFound):
                await knowledge.documents.get(session, reader.subject, str(base.id), str(reference))


async def test_chunks_that_one_may_not_read_are_not_counted(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    spans = [SpanRights(0, 3, readers=frozenset({me(admin)}))]
    document = await knowledge.document(admin, base, "one", "two", spans=spans)
    assert (await knowledge.show(admin, base, document)).chunks_count == 2
    assert (await knowledge.show(reader, base, document)).chunks_count == 1


async def test_writers_change_title_and_metadata(knowledge: Knowledge, admin: Person) -> None:
    writer = await knowledge.identity.person(admin, Role.KB_MANAGER)
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(writer), "write"), (me(reader), "read"))
    document = await knowledge.document(admin, base, "text", title="Old", metadata={"a": 1, "b": 2})
    changed = await patch(knowledge, writer, base, document, title="  New title ", metadata={"c": 3})
    assert (changed.title, changed.metadata) == ("New title", {"c": 3})
    with pytest.raises(PermissionMissing):
        await patch(knowledge, reader, base, document, title="Mine")
    with pytest.raises(PreconditionFailed):
        await patch(knowledge, writer, base, document, revision=changed.revision - 1, title="Late")
    events = await knowledge.rows(
        admin.subject.tenant,
        "SELECT action FROM eai.audit_events WHERE resource_id = :id ORDER BY seq",
        id=str(document),
    )
    assert events == [("knowledge.document.update",)]


async def test_readers_lists_are_told_to_writers_only(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    document = await knowledge.document(admin, base, "text", readers=frozenset({me(reader), me(admin)}))
    assert (await knowledge.show(admin, base, document)).readers == sorted([me(reader), me(admin)])
    assert (await knowledge.show(reader, base, document)).readers is None


async def test_a_copy_is_found_only_where_one_may_read_it(knowledge: Knowledge, admin: Person) -> None:
    writer = await knowledge.identity.person(admin, Role.KB_MANAGER)
    base = await knowledge.base(admin, (me(writer), "write"))
    other = await knowledge.base(admin, (me(writer), "write"))

    async def copy_of(
        draft: Any,
        by: Person = writer,
        where: BaseOut = base,
        given: frozenset[str] = frozenset(),
        **fields: Any,
    ) -> bool | None:
        handle = await knowledge.handle(by, where)
        new = DocumentDraft(id=DocumentId(uuid4()), **{"title": "A document", **fields})
        async with knowledge.database.transaction(by.subject.tenant) as session:
            version = VersionDraft(VersionId(uuid4()), "text/plain", draft.source_hash)
            found = await find_duplicate(session, by.subject, handle, new, version, given=given)
        return None if found is None else found.is_same

    draft = await knowledge.draft(admin, base, "the same text", metadata={"k": 1})
    assert await copy_of(draft) is True
    assert await copy_of(draft, title="Another", given=frozenset({"title"})) is False
    assert await copy_of(draft, metadata={"k": 1}, given=frozenset({"metadata"})) is True
    assert await copy_of(draft, metadata={"k": 2}, given=frozenset({"metadata"})) is False
    assert await copy_of(draft, classification=Classification.PUBLIC, given=frozenset()) is True
    assert await copy_of(draft, source_connector="other") is None
    assert await copy_of(draft, where=other) is None
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        await set_version_status(session, admin.subject.tenant, draft.stored.version, "failed")
    assert await copy_of(draft) is None

    hidden = await knowledge.draft(admin, base, "hidden text", readers=frozenset({me(admin)}))
    assert await copy_of(hidden) is None
    assert await copy_of(hidden, by=admin) is True
    spans = (SpanRights(0, 5, frozenset({me(admin)})),)
    partly = await knowledge.draft(admin, base, "first", "other", spans=spans)
    assert await copy_of(partly) is None
    await knowledge.serve(partly)
    assert await copy_of(partly) is None
    assert await copy_of(partly, by=admin) is True
    named = await knowledge.draft(admin, base, "named text", external_id="x-1")
    assert await copy_of(named) is None


async def test_an_external_id_names_one_live_document_of_a_source(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    first = await knowledge.document(admin, base, "a", external_id="x-1")
    with pytest.raises(ExternalIdExists) as refused:
        await knowledge.draft(admin, base, "b", external_id="x-1")
    assert refused.value.details == {}
    await knowledge.document(admin, base, "b", external_id="x-1", source_connector="other")
    await knowledge.deletions.delete(admin.subject, str(base.id), str(first), None)
    await knowledge.document(admin, base, "b", external_id="x-1")
