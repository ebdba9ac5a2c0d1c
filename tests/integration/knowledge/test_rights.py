"""A document's rights change at once; classes, statistics and points follow."""

import asyncio
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.identity.errors import ClearanceExceeded, PrincipalUnknown
from eai.kernel.errors import InvalidInput, NotFound
from eai.knowledge.chunks.following import PointFollowing
from eai.knowledge.chunks.rights_classes import rights_class_number
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.errors import DocumentNotReady, PermissionMissing
from eai.platform.jobs import Fenced
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge, me
from tests.fakes.vectors import Paused
from tests.integration.knowledge.recount import misplaced, recounted, stored


async def test_new_readers_bind_before_any_point_has_moved(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    document = await knowledge.document(admin, base, "text", "more text")
    changed = await knowledge.set_acl(admin, base, document, readers=[me(admin)])
    assert changed.readers == [me(admin)]
    with pytest.raises(NotFound):
        await knowledge.show(reader, base, document)
    handle = await knowledge.handle(admin, base)
    assert await stored(knowledge, handle) == ({}, {})
    assert await misplaced(knowledge, handle) != []
    assert "knowledge.move_rights" in await knowledge.work(admin.subject.tenant)
    assert await misplaced(knowledge, handle) == []


async def test_a_field_that_is_not_named_keeps_its_value(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    readers = frozenset({me(admin)})
    document = await knowledge.document(
        admin, base, "text", readers=readers, classification=Classification.CONFIDENTIAL
    )
    changed = await knowledge.set_acl(admin, base, document, classification="restricted")
    assert (changed.readers, changed.classification) == ([me(admin)], Classification.RESTRICTED)
    changed = await knowledge.set_acl(admin, base, document, readers=None)
    assert (changed.readers, changed.classification) == (None, Classification.RESTRICTED)
    same = await knowledge.set_acl(admin, base, document, readers=None, classification="restricted")
    assert same.revision == changed.revision


async def test_following_the_base_again_is_a_change_of_level_too(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin, classification="internal")
    document = await knowledge.document(admin, base, "text", classification=Classification.RESTRICTED)
    with pytest.raises(InvalidInput) as refused:
        await knowledge.set_acl(admin, base, document, classification=None)
    assert refused.value.details["fields"] == [
        {"path": "reason", "code": "missing", "message": "is needed to lower the classification"}
    ]
    changed = await knowledge.set_acl(admin, base, document, classification=None, reason="Published")
    assert changed.classification is Classification.INTERNAL


async def test_who_may_change_a_level(knowledge: Knowledge, admin: Person) -> None:
    writer = await knowledge.identity.person(admin, Role.KB_MANAGER, clearance="confidential")
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(writer), "write"), (me(reader), "read"))
    document = await knowledge.document(admin, base, "text")
    with pytest.raises(PermissionMissing):
        await knowledge.set_acl(reader, base, document, classification="confidential")
    with pytest.raises(ClearanceExceeded):
        await knowledge.set_acl(writer, base, document, classification="restricted")
    await knowledge.set_acl(writer, base, document, classification="confidential")
    with pytest.raises(PermissionMissing):
        await knowledge.set_acl(writer, base, document, classification="public", reason="No matter")
    await knowledge.set_acl(admin, base, document, classification="restricted")
    with pytest.raises(NotFound):
        await knowledge.set_acl(writer, base, document, classification="public", reason="Unseen")


async def test_unknown_readers_are_named(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "text")
    with pytest.raises(PrincipalUnknown):
        await knowledge.set_acl(admin, base, document, readers=[f"user:{uuid4()}"])
    spans = [{"start": 0, "end": 4, "readers": [me(admin), "group:x"]}]
    with pytest.raises(PrincipalUnknown) as refused:
        await knowledge.set_acl(admin, base, document, chunk_readers=spans)
    assert refused.value.details["fields"][0]["path"] == "chunk_readers.0.readers.0"  # type: ignore[index]


async def test_levels_move_statistics_from_class_to_class(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "refund policy", "travel policy")
    await knowledge.document(admin, base, "travel budget")
    handle = await knowledge.handle(admin, base)
    await knowledge.set_acl(admin, base, document, classification="restricted")
    terms, languages = await stored(knowledge, handle)
    assert terms == (await recounted(knowledge, handle))[0]
    assert {key: count for key, count in languages.items() if key[2] == "chunks"} == {
        (1, "en", "chunks"): 1,
        (2, "en", "chunks"): 2,
    }
    await knowledge.work(admin.subject.tenant)
    assert await misplaced(knowledge, handle) == []


async def test_spans_bind_the_passages_they_touch(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "aaaa", "bbbb", "cccc")
    spans = [
        {"start": 3, "end": 6, "readers": [me(admin), "tenant:*"]},
        {"start": 5, "end": 9, "readers": ["tenant:*"], "classification": "restricted"},
    ]
    await knowledge.set_acl(admin, base, document, chunk_readers=spans)
    rows = await knowledge.rows(
        admin.subject.tenant,
        "SELECT content, readers, classification FROM eai.kb_chunks WHERE document_id = :d ORDER BY ordinal",
        d=document,
    )
    assert rows == [
        ("aaaa", sorted([me(admin), "tenant:*"]), None),
        ("bbbb", ["tenant:*"], 3),
        ("cccc", None, None),
    ]
    handle = await knowledge.handle(admin, base)
    await knowledge.work(admin.subject.tenant)
    assert await misplaced(knowledge, handle) == []
    assert await stored(knowledge, handle) == await recounted(knowledge, handle)
    with pytest.raises(InvalidInput):
        await knowledge.set_acl(admin, base, document, chunk_readers=[])
    await knowledge.set_acl(admin, base, document, chunk_readers=[], reason="Released")
    assert await stored(knowledge, handle) == await recounted(knowledge, handle)


async def test_changed_spans_are_another_revision(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "aaaa", "bbbb")
    first = (await knowledge.show(admin, base, document)).revision
    spans = [{"start": 0, "end": 4, "readers": [me(admin)]}]
    assert (await knowledge.set_acl(admin, base, document, chunk_readers=spans)).revision == first + 1
    assert (await knowledge.set_acl(admin, base, document, chunk_readers=spans)).revision == first + 1
    shorter = [{"start": 0, "end": 3, "readers": [me(admin)]}]
    assert (await knowledge.set_acl(admin, base, document, chunk_readers=shorter)).revision == first + 2


async def test_spans_need_a_text_that_answers(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    draft = await knowledge.draft(admin, base, "text")
    with pytest.raises(DocumentNotReady):
        await knowledge.set_acl(admin, base, draft.stored.document, chunk_readers=[])


async def test_a_late_move_does_not_undo_a_newer_one(knowledge: Knowledge, admin: Person) -> None:
    """Two moves run at once; the older one reads first and writes last."""
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "text")
    await knowledge.work(admin.subject.tenant)
    await knowledge.set_acl(admin, base, document, classification="confidential")
    ((_, older),) = await knowledge.queued(admin.subject.tenant)
    slow = Paused(knowledge.vectors, "set_rights")
    following = PointFollowing(knowledge.database, slow, knowledge.jobs)
    late = asyncio.create_task(following.move_rights(await knowledge.claim(admin.subject.tenant, older)))
    await slow.reached.wait()
    await knowledge.set_acl(admin, base, document, classification="secret")
    assert await knowledge.work(admin.subject.tenant) == ["knowledge.move_rights"]
    slow.go_on.set()
    await late
    assert await misplaced(knowledge, await knowledge.handle(admin, base)) == []


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_move_that_lost_its_job_does_not_undo_a_newer_one(
    knowledge: Knowledge, admin: Person, is_cancelled: bool
) -> None:
    """It is frozen before it writes, until another attempt and a newer move are done."""
    base, tenant = await knowledge.base(admin), admin.subject.tenant
    document = await knowledge.document(admin, base, "text")
    await knowledge.work(tenant)
    await knowledge.set_acl(admin, base, document, classification="confidential")
    ((_, job),) = await knowledge.queued(tenant)
    slow = Paused(knowledge.vectors, "set_rights")
    following = PointFollowing(knowledge.database, slow, knowledge.jobs)
    frozen = asyncio.create_task(following.move_rights(await knowledge.claim(tenant, job)))
    await slow.reached.wait()
    await knowledge.rows(tenant, "UPDATE eai.jobs SET lease_until = now() - interval '1 second'")
    await knowledge.worker.run_one(tenant, job)
    await knowledge.set_acl(admin, base, document, classification="secret")
    assert await knowledge.work(tenant) == ["knowledge.move_rights"]
    slow.go_on.set()
    if is_cancelled:
        await slow.passed.wait()
        frozen.cancel()
    with pytest.raises(asyncio.CancelledError if is_cancelled else Fenced):
        await frozen
    assert await knowledge.work(tenant) == ["knowledge.move_rights"]
    assert await misplaced(knowledge, await knowledge.handle(admin, base)) == []


async def test_a_class_gets_one_number_however_many_ask_at_once(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    handle = await knowledge.handle(admin, base)

    async def number(readers: frozenset[str]) -> int:
        async with knowledge.database.transaction(handle.tenant) as session:
            return await rights_class_number(
                session, handle.tenant, handle.id, readers, None, Classification.SECRET, None, "direct"
            )

    names = [frozenset({f"user:{uuid4()}", "tenant:*"}) for _ in range(3)]
    numbers = await asyncio.gather(*(number(names[i % 3]) for i in range(9)))
    assert sorted(set(numbers)) == [1, 2, 3]
    assert numbers[:3] == numbers[3:6] == numbers[6:]


async def test_a_span_of_a_new_document_moves_nothing(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    spans = [SpanRights(0, 4, readers=frozenset())]
    await knowledge.document(admin, base, "aaaa", "bbbb", spans=spans)
    assert "knowledge.move_rights" not in [name for name, _ in await knowledge.queued(admin.subject.tenant)]
    assert await misplaced(knowledge, await knowledge.handle(admin, base)) == []
