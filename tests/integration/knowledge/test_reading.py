"""Citations open under the rights of a query, and leave a trace."""

from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.audit.entries import Evidence
from eai.kernel.errors import NotFound
from eai.kernel.ids import DocumentId, chunk_id
from eai.knowledge.bases.schemas import BaseOut, BasePatch
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.documents.reading import read_chunk, read_content
from eai.knowledge.documents.schemas import ChunkOut
from eai.knowledge.errors import PermissionMissing
from tests.factories.identity import Person
from tests.factories.knowledge import Draft, Knowledge, me


async def content(knowledge: Knowledge, by: Person, base: BaseOut, document: DocumentId) -> str:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        shown, evidence = await read_content(session, by.subject, str(base.id), str(document))
    assert [entry.action for entry in evidence.entries] == ["knowledge.document.read"]
    return shown.content


async def chunk(
    knowledge: Knowledge, by: Person, base: BaseOut, draft: Draft, place: int
) -> tuple[ChunkOut, Evidence]:
    wanted = str(draft.chunks[place].chunk)
    async with knowledge.database.transaction(by.subject.tenant) as session:
        return await read_chunk(session, by.subject, str(base.id), str(draft.stored.document), wanted)


async def test_a_passage_opens_with_its_place_and_source(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "first part", "second part", source_uri="https://x.example/1")
    await knowledge.serve(draft)
    shown, evidence = await chunk(knowledge, admin, base, draft, 1)
    assert (shown.content, shown.ordinal) == ("second part", 1)
    assert (shown.position.start, shown.position.end) == (11, 22)
    assert (shown.provenance.version, shown.provenance.source_uri) == ("1", "https://x.example/1")
    assert [entry.action for entry in evidence.entries] == ["knowledge.chunk.read"]
    assert (await content(knowledge, admin, base, draft.stored.document))[11:22] == "second part"


async def test_what_one_may_not_read_does_not_open(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    spans = [
        SpanRights(0, 6, readers=frozenset({me(admin)})),
        SpanRights(7, 11, classification=Classification.SECRET),
    ]  # type: ignore[arg-type]
    draft = await knowledge.draft(admin, base, "hidden", "dark", "open", spans=spans)
    await knowledge.serve(draft)
    assert (await chunk(knowledge, reader, base, draft, 2))[0].content == "open"
    for place in (0, 1):
        assert (await chunk(knowledge, admin, base, draft, place))[0].content in {"hidden", "dark"}
        with pytest.raises(NotFound):
            await chunk(knowledge, reader, base, draft, place)


async def test_hidden_passages_are_blank_and_offsets_stay_true(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    draft = await knowledge.draft(
        admin, base, "public", "hidden", "also", spans=[SpanRights(7, 13, readers=frozenset({me(admin)}))]
    )
    await knowledge.serve(draft)
    assert await content(knowledge, admin, base, draft.stored.document) == "public\nhidden\nalso"
    assert await content(knowledge, reader, base, draft.stored.document) == "public\n      \nalso"


async def test_a_span_hides_text_that_no_passage_covers(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    document = await knowledge.document(admin, base, "one", "two")
    await knowledge.set_acl(
        admin, base, document, chunk_readers=[{"start": 3, "end": 500, "readers": [me(admin)]}]
    )
    assert await content(knowledge, reader, base, document) == "one    "


async def test_administering_a_base_opens_no_passage(knowledge: Knowledge, admin: Person) -> None:
    maker = await knowledge.identity.person(admin, Role.KB_MANAGER)
    base = await knowledge.base(maker)
    draft = await knowledge.draft(maker, base, "text")
    await knowledge.serve(draft)
    with pytest.raises(PermissionMissing):
        await chunk(knowledge, admin, base, draft, 0)
    with pytest.raises(PermissionMissing):
        await content(knowledge, admin, base, draft.stored.document)


async def test_a_manager_who_is_no_reader_opens_nothing(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text", readers=frozenset())
    await knowledge.serve(draft)
    assert (await knowledge.show(admin, base, draft.stored.document)).title == "A document"
    with pytest.raises(NotFound):
        await chunk(knowledge, admin, base, draft, 0)
    with pytest.raises(NotFound):
        await content(knowledge, admin, base, draft.stored.document)


async def test_only_the_version_that_answers_opens(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text")
    with pytest.raises(NotFound):
        await chunk(knowledge, admin, base, draft, 0)
    with pytest.raises(NotFound):
        await content(knowledge, admin, base, draft.stored.document)
    await knowledge.serve(draft)
    for reference in (chunk_id(draft.stored.document, draft.stored.version, 0, 99), uuid4(), "nonsense"):
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            with pytest.raises(NotFound):
                await read_chunk(
                    session, admin.subject, str(base.id), str(draft.stored.document), str(reference)
                )


async def test_a_chunk_opens_only_under_its_own_document(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text")
    await knowledge.serve(draft)
    other = await knowledge.document(admin, base, "other")
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        with pytest.raises(NotFound):
            await read_chunk(session, admin.subject, str(base.id), str(other), str(draft.chunks[0].chunk))


async def test_raising_the_bases_level_closes_what_follows_it(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    draft = await knowledge.draft(admin, base, "text")
    await knowledge.serve(draft)
    assert (await chunk(knowledge, reader, base, draft, 0))[0].content == "text"
    async with knowledge.database.transaction(admin.subject.tenant) as session:
        change = BasePatch(classification="restricted")  # type: ignore[arg-type]
        await knowledge.bases.update(session, admin.subject, str(base.id), change, None)
    with pytest.raises(NotFound):
        await chunk(knowledge, reader, base, draft, 0)
