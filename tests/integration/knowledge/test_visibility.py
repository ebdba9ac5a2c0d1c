"""The SQL of lists decides as the access rules do, for every arrangement of rights."""

from collections.abc import Sequence
from itertools import product
from uuid import uuid4

from sqlalchemy import select

from eai.access.acl import base_rights
from eai.access.classification import LEVELS, Classification
from eai.access.scopes import Role
from eai.access.visibility import PassageRights, may_read
from eai.kernel.ids import TenantId
from eai.knowledge.bases.access import handle_of
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.models import KnowledgeBase, KnowledgeDocument
from eai.knowledge.visibility import readable_documents, visible_bases, visible_documents
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge, me

PERMISSIONS = ("read", "write", "manage")


async def test_lists_of_bases_hold_what_the_access_lists_show(knowledge: Knowledge, admin: Person) -> None:
    ann = await knowledge.identity.person(admin, Role.KB_MANAGER)
    group = f"group:{await knowledge.identity.group(admin, ann)}"
    lists: list[Sequence[tuple[str, ...]]] = [[]]
    for permission, effect in product(PERMISSIONS, ("allow", "deny")):
        lists.append([(me(ann), permission, effect)])
        for other, reverse in product(PERMISSIONS, ("allow", "deny")):
            lists.append([(group, permission, effect), ("tenant:*", other, reverse)])
    for entries in lists:
        await knowledge.base(admin, *entries)  # type: ignore[arg-type]
    for person in (ann, admin):
        async with knowledge.database.transaction(person.subject.tenant) as session:
            rows = BaseRows(session, person.subject.tenant)
            everything = (await session.scalars(select(KnowledgeBase))).all()
            listed = set(await session.scalars(select(KnowledgeBase.id).where(visible_bases(person.subject))))
            entries_of = await rows.entries_by_base([row.id for row in everything])
        seen = {row.id for row in everything if base_rights(person.subject, entries_of[row.id]).can_see}
        assert listed == seen
        assert len(everything) == len(lists)


async def test_lists_of_documents_hold_what_their_rows_show(knowledge: Knowledge, admin: Person) -> None:
    ann = await knowledge.identity.person(admin, Role.MEMBER, clearance="confidential")
    eve = await knowledge.identity.person(admin, Role.KB_MANAGER, clearance="public")
    group = f"group:{await knowledge.identity.group(admin, ann)}"
    base = await knowledge.base(admin, (me(ann), "read"), (me(eve), "manage"), classification="internal")
    readers: list[list[str] | None] = [None, [], [group], [me(eve)], [me(ann), me(eve)], ["tenant:*"]]
    for number, (who, level) in enumerate(product(readers, [None, *Classification])):
        fields = {"readers": None if who is None else frozenset(who), "classification": level}
        await knowledge.document(admin, base, f"text {number}", **fields)
    for person in (ann, eve, admin):
        async with knowledge.database.transaction(person.subject.tenant) as session:
            row = (await session.scalars(select(KnowledgeBase))).one()
            rights = base_rights(
                person.subject, await BaseRows(session, person.subject.tenant).entries(base.id)
            )
            level = handle_of(row, rights, 1.0).classification
            readable = readable_documents(person.subject, rights, level)
            shown = visible_documents(person.subject, rights, level)
            listed = set(await session.scalars(select(KnowledgeDocument.id).where(readable)))
            metadata = set(await session.scalars(select(KnowledgeDocument.id).where(shown)))
            documents = (await session.scalars(select(KnowledgeDocument))).all()
        may = {d.id for d in documents if may_read(person.subject, rights, _passage(d, level))}
        assert listed == may
        assert may <= metadata
        below = {d.id for d in documents if not _level(d, level).exceeds(person.subject.clearance)}
        assert metadata == (below if rights.can_manage else may)
    assert len(documents) == 36


def _level(document: KnowledgeDocument, default: Classification) -> Classification:
    return default if document.classification is None else LEVELS[document.classification]


def _passage(document: KnowledgeDocument, default: Classification) -> PassageRights:
    return PassageRights(
        tenant=TenantId(document.tenant_id),
        document_readers=None if document.readers is None else frozenset(document.readers),
        chunk_readers=None,
        classification=_level(document, default),
        is_live=True,
        is_source_enabled=True,
    )


async def test_another_tenants_rows_are_in_no_list(knowledge: Knowledge, admin: Person) -> None:
    stranger = await knowledge.identity.administrator()
    base = await knowledge.base(admin, ("tenant:*", "manage"), name=f"open {uuid4()}")
    await knowledge.document(admin, base, "text")
    async with knowledge.database.transaction(stranger.subject.tenant) as session:
        assert (await session.scalars(select(KnowledgeBase))).all() == []
        assert (await session.scalars(select(KnowledgeDocument))).all() == []
