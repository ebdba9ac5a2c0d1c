"""What changes between search and re-check: the rights of that last instant decide (invariant I12)."""

from collections.abc import Callable

import pytest

from eai.access.acl import Entry, Permission
from eai.access.classification import Classification
from eai.access.rights_class import generation_key
from eai.audit.service import Audit
from eai.kernel.errors import Forbidden, NotFound, Unauthenticated
from eai.knowledge.errors import PermissionMissing
from eai.knowledge.ports import Selector, Vectors
from eai.platform.database import Database
from eai.retrieval.repository import QueryRows
from eai.retrieval.service import Retrieval
from tests.factories.retrieval import PEPPERS, SPACE, Library, ask, contents, local_gateway
from tests.factories.stores import Action, Beforehand, Meanwhile

MeanwhileRetrieval = Callable[[Action], tuple[Retrieval, Meanwhile]]


@pytest.fixture
def while_(database: Database, vectors: Vectors, audit: Audit) -> MeanwhileRetrieval:
    def built(action: Action) -> tuple[Retrieval, Meanwhile]:
        store = Meanwhile(vectors, action)
        rows = QueryRows(database, PEPPERS)
        return Retrieval(rows, local_gateway(database, audit), store, audit, store="embedded"), store

    return built


async def test_a_membership_that_ended_during_the_search_counts_no_more(
    library: Library, while_: MeanwhileRetrieval
) -> None:
    """Attack 10."""
    asker, shelf = await library.principal(), await library.base()
    group = await library.group(asker)
    await library.document(shelf, "refund for the group", readers=[group])
    await library.document(shelf, "refund for all")
    retrieval, _ = while_(lambda: library.leave(group, asker))
    assert contents(await ask(retrieval, asker, shelf)) == ["refund for all"]


async def test_a_clearance_that_was_lowered_during_the_search_counts(
    library: Library, while_: MeanwhileRetrieval
) -> None:
    asker, shelf = await library.principal(clearance=Classification.SECRET), await library.base()
    await library.document(shelf, "secret refund", level=Classification.SECRET)
    lower = "UPDATE eai.principals SET clearance = 1 WHERE id = :id"
    retrieval, _ = while_(lambda: library.execute(lower, id=asker.id))
    assert contents(await ask(retrieval, asker, shelf)) == []


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ("UPDATE eai.api_keys SET revoked_at = now() WHERE id = :key", Unauthenticated),
        ("UPDATE eai.api_keys SET expires_at = now() WHERE id = :key", Unauthenticated),
        ("UPDATE eai.principals SET suspended_at = now() WHERE id = :principal", Unauthenticated),
        ("DELETE FROM eai.principals WHERE id = :principal", Unauthenticated),
        ("UPDATE eai.principals SET roles = '{auditor}' WHERE id = :principal", Forbidden),
        ("UPDATE eai.api_keys SET scopes = '{kb:read}' WHERE id = :key", Forbidden),
        ("DELETE FROM eai.knowledge_base_entries WHERE base_id = :base", NotFound),
        ("UPDATE eai.knowledge_base_entries SET effect = 'deny' WHERE base_id = :base", NotFound),
        ("UPDATE eai.knowledge_bases SET deleting_since = now() WHERE id = :base", NotFound),
    ],
)
async def test_what_was_taken_during_the_search_ends_the_query(
    library: Library, while_: MeanwhileRetrieval, change: str, outcome: type[Exception]
) -> None:
    asker = await library.principal()
    shelf = await library.base(Entry(asker.reference, Permission.READ))
    await library.document(shelf, "refund")
    named = {"key": asker.api_key, "principal": asker.id, "base": shelf.id}
    used = {name: value for name, value in named.items() if f":{name}" in change}
    retrieval, _ = while_(lambda: library.execute(change, **used))
    with pytest.raises(outcome) as refusal:
        await ask(retrieval, asker, shelf)
    assert type(refusal.value) is outcome
    assert not isinstance(refusal.value, PermissionMissing)


async def test_a_document_that_was_closed_during_the_search_stays_closed(
    library: Library, while_: MeanwhileRetrieval
) -> None:
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, "refund")
    close = "UPDATE eai.kb_documents SET readers = '{}' WHERE id = :id"
    retrieval, _ = while_(lambda: library.execute(close, id=book.id))
    assert contents(await ask(retrieval, asker, shelf)) == []


async def test_a_connector_that_was_switched_off_during_the_search_shows_nothing(
    library: Library, while_: MeanwhileRetrieval
) -> None:
    asker, shelf, connector = await library.principal(), await library.base(), await library.connector()
    await library.document(shelf, "refund from elsewhere", connector=connector)
    await library.document(shelf, "refund for all")
    retrieval, _ = while_(lambda: library.switch(connector, is_enabled=False))
    assert contents(await ask(retrieval, asker, shelf)) == ["refund for all"]


@pytest.mark.parametrize("others", [0, 30])
async def test_a_document_replaced_during_the_search_answers_with_its_new_text(
    library: Library, while_: MeanwhileRetrieval, others: int
) -> None:
    """Invariants I2 and I6: neither the old text nor nothing, whether or not other hits fill the answer."""
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, "refund refund refund, old")
    await library.document(shelf, "nothing", *[f"refund {number}" for number in range(others)])

    async def replace() -> None:
        await library.version(shelf, book.id, "refund refund refund, new", number=2)

    retrieval, store = while_(replace)
    found = contents(await ask(retrieval, asker, shelf))
    assert found[0] == "refund refund refund, new"
    assert "refund refund refund, old" not in found
    assert len(store.asked) == 2


async def test_a_document_replaced_and_cleaned_up_during_the_search_is_found(
    library: Library, while_: MeanwhileRetrieval
) -> None:
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, "refund, old")

    async def replace() -> None:
        await library.version(shelf, book.id, "refund, new", number=2)
        await library.execute("DELETE FROM eai.kb_chunks WHERE version_id = :v", v=book.version)

    retrieval, _ = while_(replace)
    assert contents(await ask(retrieval, asker, shelf)) == ["refund, new"]


async def test_a_document_replaced_and_cleaned_up_before_the_search_is_found_under_its_new_rights(
    library: Library, database: Database, vectors: Vectors, audit: Audit
) -> None:
    """No hit tells of it: its old points are gone, and of its new class the search was not told."""
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, "refund, old")

    async def replace() -> None:
        searched = generation_key(library.tenant, shelf.generation)
        await library.version(shelf, book.id, "refund, new", number=2, readers=[asker.reference])
        await vectors.delete(SPACE, Selector(searched, version=book.version))
        await library.execute("DELETE FROM eai.kb_chunks WHERE version_id = :v", v=book.version)

    store = Beforehand(vectors, replace)
    gateway = local_gateway(database, audit)
    retrieval = Retrieval(QueryRows(database, PEPPERS), gateway, store, audit, store="embedded")
    assert contents(await ask(retrieval, asker, shelf)) == ["refund, new"]


async def test_a_document_deleted_during_the_search_is_gone(
    library: Library, while_: MeanwhileRetrieval
) -> None:
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, "refund")
    delete = "UPDATE eai.kb_documents SET deleting_since = now() WHERE id = :id"
    retrieval, _ = while_(lambda: library.execute(delete, id=book.id))
    assert contents(await ask(retrieval, asker, shelf)) == []


async def test_a_question_during_which_nothing_changes_is_searched_once(
    library: Library, while_: MeanwhileRetrieval
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "refund")

    async def nothing() -> None:
        pass

    retrieval, store = while_(nothing)
    assert contents(await ask(retrieval, asker, shelf)) == ["refund"]
    assert len(store.asked) == 1
