"""What a reindex has to look at again: documents that were not served yet, or otherwise, when it looked."""

from contextlib import AbstractAsyncContextManager

from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId
from eai.knowledge.bases.schemas import BaseOut
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.serving import serve_version
from eai.reindex.coverage_rows import CoverageRows
from tests.factories.identity import Person
from tests.factories.knowledge import Draft, Knowledge
from tests.integration.knowledge.test_serving import replace


class Looks:
    """One look after the other at a base."""

    def __init__(self, knowledge: Knowledge, by: Person, base: BaseOut) -> None:
        self._knowledge = knowledge
        self._tenant = by.subject.tenant
        self._base = BaseId(base.id)

    def transaction(self) -> AbstractAsyncContextManager[AsyncSession]:
        return self._knowledge.database.transaction(self._tenant)

    async def now(self) -> str:
        async with self.transaction() as session:
            return await CoverageRows(session, self._tenant, self._base).now()

    async def until(self, look: str) -> set[DocumentId]:
        async with self.transaction() as session:
            page = await CoverageRows(session, self._tenant, self._base).page(None, until=look)
            return {DocumentId(each.document) for each in page}

    async def since(self, look: str) -> set[DocumentId]:
        async with self.transaction() as session:
            return set(await CoverageRows(session, self._tenant, self._base).served_since(look))


async def serve_within(session: AsyncSession, knowledge: Knowledge, draft: Draft) -> None:
    await serve_version(
        session, knowledge.jobs, draft.base, draft.stored, draft.source_hash, draft.text, draft.chunks
    )


async def test_what_was_served_before_a_look_is_not_looked_at_again(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    looks = Looks(knowledge, admin, base)
    before = await knowledge.draft(admin, base, "before")
    await knowledge.serve(before)
    look = await looks.now()
    assert await looks.since(look) == set()
    later = await knowledge.draft(admin, base, "later")
    await knowledge.serve(later)
    assert await looks.since(look) == {later.stored.document}
    assert await looks.until(look) == {before.stored.document}
    look = await looks.now()
    assert await looks.since(look) == set()
    assert await looks.until(look) == {before.stored.document, later.stored.document}


async def test_what_was_being_served_during_a_look_is_looked_at_again_however_old_its_transaction(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    looks = Looks(knowledge, admin, base)
    slow = await knowledge.draft(admin, base, "slow")
    async with looks.transaction() as session:
        await serve_within(session, knowledge, slow)
        look = await looks.now()
        assert await looks.since(look) == set()
        assert await looks.until(look) == set()
    assert await looks.since(look) == {slow.stored.document}
    assert await looks.until(look) == set()


async def test_a_new_text_is_looked_at_again_and_new_fields_are_not(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    looks = Looks(knowledge, admin, base)
    first, other = [await knowledge.draft(admin, base, word) for word in ("first", "other")]
    for draft in (first, other):
        await knowledge.serve(draft)
    look = await looks.now()
    async with looks.transaction() as session:
        rows = DocumentRows(session, admin.subject.tenant, first.base.id)
        await rows.update(other.stored.document, {"title": "Renamed"})
    assert await looks.since(look) == set()
    await knowledge.serve(await replace(knowledge, admin, base, first.stored.document, "second"))
    assert await looks.since(look) == {first.stored.document}


async def test_rows_restored_from_another_server_do_not_hide_what_is_served_now(
    knowledge: Knowledge, admin: Person
) -> None:
    base = await knowledge.base(admin)
    looks = Looks(knowledge, admin, base)
    restored, later = [await knowledge.draft(admin, base, word) for word in ("restored", "later")]
    await knowledge.serve(restored)
    async with looks.transaction() as session:
        rows = DocumentRows(session, admin.subject.tenant, restored.base.id)
        # Of a server that has seen far more transactions than this one.
        await rows.update(restored.stored.document, {"served_by": 2**40})
    look = await looks.now()
    await knowledge.serve(later)
    assert await looks.since(look) == {later.stored.document}
    assert await looks.until(look) == {restored.stored.document}


async def test_a_transaction_that_goes_on_for_long_has_nothing_looked_at_again_but_its_own(
    knowledge: Knowledge, admin: Person
) -> None:
    base, other = await knowledge.base(admin), await knowledge.base(admin)
    looks = Looks(knowledge, admin, base)
    slow = await knowledge.draft(admin, other, "slow")
    quick = await knowledge.draft(admin, base, "quick")
    async with looks.transaction() as session:
        await serve_within(session, knowledge, slow)
        await knowledge.serve(quick)
        assert await looks.since(await looks.now()) == set()
