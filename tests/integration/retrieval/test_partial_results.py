"""When an answer says that there may be more, and that it never tells of what is hidden by it."""

import orjson
import pytest

from eai.access.rights_class import MAX_FILTER_CLASSES, generation_key
from eai.audit.service import Audit
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.retrieval.repository import QueryRows
from eai.retrieval.service import Retrieval
from tests.factories.retrieval import PEPPERS, Asker, Library, Shelf, ask, contents, local_gateway
from tests.factories.stores import Meanwhile

TEAM_A = {"metadata": {"team": "a"}}


@pytest.fixture
def store(vectors: Vectors) -> Meanwhile:
    return Meanwhile(vectors)


@pytest.fixture
def retrieval(database: Database, audit: Audit, store: Meanwhile) -> Retrieval:
    return Retrieval(
        QueryRows(database, PEPPERS), local_gateway(database, audit), store, audit, store="embedded"
    )


async def give_classes(library: Library, shelf: Shelf, count: int) -> None:
    """As many rights classes as these that everybody is in."""
    await library.execute(
        """
        INSERT INTO eai.kb_rights_classes (tenant_id, base_id, number, digest, source_connector)
        SELECT b.tenant_id, b.id, 100 + n, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'direct'
          FROM eai.knowledge_bases b, generate_series(1, :count) n WHERE b.id = :base""",
        base=shelf.id,
        count=count,
    )


async def body(
    retrieval: Retrieval, asker: Asker, shelf: Shelf, query: str = "refund", **options: object
) -> dict[str, object]:
    answer = orjson.loads((await ask(retrieval, asker, shelf, query, **options)).body)
    del answer["knowledge_base_id"]
    for result in answer["results"]:
        del result["chunk_id"], result["document_id"], result["provenance"]
    return dict(answer)


class TestMoreClassesThanAFilterTakes:
    async def test_a_thousand_still_fit(
        self, retrieval: Retrieval, library: Library, store: Meanwhile
    ) -> None:
        asker, shelf = await library.principal(), await library.base()
        await library.document(shelf, "refund")
        await give_classes(library, shelf, MAX_FILTER_CLASSES - 1)
        answer = await ask(retrieval, asker, shelf)
        assert (contents(answer), answer.warnings) == (["refund"], ())
        (asked,) = store.asked
        assert asked.filter.rights_keys is not None
        assert len(asked.filter.rights_keys) == MAX_FILTER_CLASSES

    async def test_with_one_more_the_generation_alone_is_asked_for(
        self, retrieval: Retrieval, library: Library, store: Meanwhile
    ) -> None:
        asker, shelf = await library.principal(), await library.base()
        await library.document(shelf, "refund")
        await give_classes(library, shelf, MAX_FILTER_CLASSES)
        answer = await ask(retrieval, asker, shelf, top_k=1)
        assert (contents(answer), answer.warnings) == (["refund"], ())
        (asked,) = store.asked
        assert asked.filter.rights_keys is None
        assert asked.filter.generation_key == generation_key(library.tenant, shelf.generation)

    @pytest.mark.parametrize("hidden", [0, 40, 400])
    async def test_a_short_answer_says_so_whatever_is_hidden(
        self, retrieval: Retrieval, library: Library, hidden: int
    ) -> None:
        asker, shelf = await library.principal(), await library.base()
        await give_classes(library, shelf, MAX_FILTER_CLASSES)
        await library.document(shelf, "a refund")
        if hidden:
            await library.document(shelf, *[f"refund refund {n}" for n in range(hidden)], readers=[])
        answer = await ask(retrieval, asker, shelf)
        assert (contents(answer), answer.warnings) == (["a refund"], ("partial_results",))


class TestFilters:
    async def test_a_thousand_readable_passages_are_looked_at_and_then_it_is_said(
        self, retrieval: Retrieval, library: Library, store: Meanwhile
    ) -> None:
        asker, shelf = await library.principal(), await library.base()
        await library.document(shelf, *[f"refund {n}" for n in range(1_600)])
        answer = await ask(retrieval, asker, shelf, "refund", filters=TEAM_A)
        assert (contents(answer), answer.warnings) == ([], ("partial_results",))
        assert [asked.limit for asked in store.asked] == [250, 1_500]

    async def test_what_the_index_still_shows_but_nobody_may_read_changes_nothing(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        asker = await library.principal()
        plain, stale = await library.base(), await library.base()
        for shelf in (plain, stale):
            await library.document(shelf, *[f"parking {n}" for n in range(1_100)])
            await library.document(shelf, "parking of team a", metadata={"team": "a"})
        closed = await library.document(stale, *[f"refund refund {n}" for n in range(350)])
        await library.execute("UPDATE eai.kb_documents SET readers = '{}' WHERE id = :id", id=closed.id)
        of_plain = await body(retrieval, asker, plain, filters=TEAM_A)
        of_stale = await body(retrieval, asker, stale, filters=TEAM_A)
        assert of_plain == of_stale
        assert of_plain["count"] == 1
        assert of_plain["warnings"] == ["partial_results"]

    async def test_below_a_thousand_a_short_answer_is_the_whole_answer(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        asker, shelf = await library.principal(), await library.base()
        await library.document(shelf, *[f"refund {n}" for n in range(900)])
        await library.document(shelf, "refund of team a", metadata={"team": "a"})
        answer = await ask(retrieval, asker, shelf, "refund", filters=TEAM_A)
        assert (contents(answer), answer.warnings) == (["refund of team a"], ())

    async def test_what_min_score_cuts_off_is_not_missing(
        self, retrieval: Retrieval, library: Library, store: Meanwhile
    ) -> None:
        asker, shelf = await library.principal(), await library.base()
        await library.document(shelf, *[f"refund {n}" for n in range(1_100)])
        answer = await ask(retrieval, asker, shelf, "refund", min_score=0.999)
        assert (contents(answer), answer.warnings) == ([], ())
        assert [asked.limit for asked in store.asked] == [50]
