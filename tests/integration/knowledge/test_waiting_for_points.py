"""How often the database is asked while whoever changes rights waits for workers."""

import asyncio

import pytest

from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.rights import DocumentRights
from eai.knowledge.documents.schemas import DocumentAcl
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge, me


async def test_workers_that_are_behind_are_not_asked_after_all_the_time(
    knowledge: Knowledge, admin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await knowledge.base(admin)
    document = await knowledge.document(admin, base, "text")
    looks, is_worked_on = [], DocumentRows.is_worked_on

    async def counted(*asked: object) -> bool:
        looks.append(asyncio.get_running_loop().time())
        return await is_worked_on(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(DocumentRows, "is_worked_on", counted)
    rights = DocumentRights(knowledge.database, knowledge.documents)
    acl = DocumentAcl(readers=[me(admin)])
    changed = await rights.set_acl(admin.subject, str(base.id), str(document), acl, revision=None)
    assert changed.readers == [me(admin)]
    assert 3 <= len(looks) <= 12
    assert looks[1] - looks[0] < 0.2
