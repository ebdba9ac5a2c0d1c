"""What a query answers, on a real database and a real engine."""

import orjson
import pytest

from eai.access.acl import Entry, Permission
from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.access.subject import Subject
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.identity.credentials import Credential
from eai.kernel.errors import Forbidden, NotFound, Unauthenticated
from eai.knowledge.errors import PermissionMissing
from eai.retrieval.schemas import QueryAnswerOut, QueryRequest
from eai.retrieval.service import Retrieval
from tests.factories.retrieval import MODEL, Library, Text, admitted, ask, contents

REFUND = "Customers get a refund within thirty days of purchase."
PARKING = "Parking spaces are assigned by the facilities team."


async def test_an_answer_has_the_documented_form(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, PARKING, REFUND, title="Handbook", level=Classification.PUBLIC)
    answer = await ask(retrieval, asker, shelf, top_k=1)
    body = orjson.loads(answer.body)
    QueryAnswerOut.model_validate_json(answer.body)
    (result,) = body.pop("results")
    assert body == {
        "knowledge_base_id": str(shelf.id),
        "query": "refund for customers",
        "count": 1,
        "mode": "hybrid",
        "reranked": False,
        "warnings": [],
        "embedding_model": MODEL,
    }
    scores = {name: result.pop(name) for name in ("score", "vector_score", "keyword_score")}
    assert all(0 < score <= 1 for score in scores.values())
    assert result == {
        "chunk_id": str(book.chunks[1]),
        "document_id": str(book.id),
        "title": "Handbook",
        "ordinal": 1,
        "content": REFUND,
        "rerank_score": None,
        "classification": "public",
        "provenance": {
            "source_type": "rag",
            "source_id": str(book.id),
            "version": "1",
            "classification": "public",
            "source_uri": f"https://example.com/{book.id}",
            "source_uri_verified": False,
            "source_connector": "direct",
        },
        "position": {"start": len(PARKING), "end": len(PARKING) + len(REFUND)},
    }


async def test_a_base_is_found_by_its_alias(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    answer = await retrieval.query(asker.credential, shelf.alias, QueryRequest(query="refund"), admitted)
    assert contents(answer) == [REFUND]


async def test_each_mode_scores_its_own_legs(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND, PARKING)
    vector = (await ask(retrieval, asker, shelf, mode="vector")).results
    keyword = (await ask(retrieval, asker, shelf, mode="keyword")).results
    assert [(r["content"], r["keyword_score"]) for r in vector] == [(REFUND, None), (PARKING, None)]
    assert [(r["content"], r["vector_score"]) for r in keyword] == [(REFUND, None)]
    assert all(r["score"] == r["vector_score"] for r in vector)
    assert all(r["score"] == r["keyword_score"] for r in keyword)


async def test_a_keyword_query_asks_no_model(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base(model="nobody-registered-this")
    await library.document(shelf, REFUND)
    answer = await ask(retrieval, asker, shelf, mode="keyword")
    assert contents(answer) == [REFUND]


@pytest.mark.parametrize("query", ["???", "\N{GRINNING FACE}", "x" * 8_000])
@pytest.mark.parametrize("mode", ["vector", "keyword", "hybrid"])
async def test_a_question_without_words_is_still_a_question(
    retrieval: Retrieval, library: Library, query: str, mode: str
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    answer = await ask(retrieval, asker, shelf, query, mode=mode)
    assert contents(answer) == ([] if mode == "keyword" else [REFUND])


async def test_min_score_is_compared_with_the_fused_score(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND, PARKING)
    best, other = (await ask(retrieval, asker, shelf, mode="vector")).results
    between = (best["score"] + other["score"]) / 2
    answer = await ask(retrieval, asker, shelf, mode="vector", min_score=between)
    assert contents(answer) == [REFUND]
    assert answer.warnings == ()


async def test_a_filter_names_values_of_the_documents_metadata(
    retrieval: Retrieval, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "refund one", metadata={"team": "a", "year": 2024, "final": True})
    await library.document(shelf, "refund two", metadata={"team": "b", "year": 2025, "tags": ["x", "y"]})
    await library.document(shelf, "refund three")

    async def found(**metadata: object) -> list[str]:
        answer = await ask(retrieval, asker, shelf, "refund", filters={"metadata": metadata})
        assert answer.warnings == ()
        return sorted(contents(answer))

    assert await found(team="a") == ["refund one"]
    assert await found(team=["a", "b"]) == ["refund one", "refund two"]
    assert await found(team=["a", "b"], year=2025.0) == ["refund two"]
    assert await found(final=True) == ["refund one"]
    assert await found(final=1) == []
    assert await found(tags="y") == ["refund two"]
    assert await found(absent="a") == []


async def test_a_filter_finds_what_many_better_hits_stand_before(
    retrieval: Retrieval, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, *[f"refund refund refund {number}" for number in range(300)])
    await library.document(shelf, "parking, and much later a refund", metadata={"team": "a"})
    answer = await ask(retrieval, asker, shelf, "refund", filters={"metadata": {"team": "a"}})
    assert contents(answer) == ["parking, and much later a refund"]
    assert answer.warnings == ()


async def test_reranking_that_nobody_configured_is_said(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, PARKING, REFUND)
    answer = await ask(retrieval, asker, shelf, rerank=True, rerank_model="anything")
    assert contents(answer) == [REFUND, PARKING]
    assert answer.warnings == ("reranker_not_configured",)
    assert orjson.loads(answer.body)["reranked"] is False


async def test_an_explanation_names_what_question_and_passage_share(
    retrieval: Retrieval, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, REFUND)
    (result,) = (await ask(retrieval, asker, shelf, "refunds for the purchases", explain=True)).results
    weight = LOCAL_HASH_256.fusion.dense_weight
    assert result["explanation"] == {"matched_stems": ["purchas", "refund"], "vector_weight": weight}
    (result,) = (await ask(retrieval, asker, shelf)).results
    assert "explanation" not in result


async def test_statistics_weigh_rare_words_more(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "parking parking rules here", "refund rules are here now")
    await library.statistics(shelf, {"en:park": 1_000, "en:refund": 1}, chunks=1_000)
    answer = await ask(retrieval, asker, shelf, "parking refund", mode="keyword")
    assert contents(answer) == ["refund rules are here now", "parking parking rules here"]


async def test_statistics_of_a_level_that_some_principal_may_not_see_do_not_count(
    retrieval: Retrieval, library: Library
) -> None:
    """Attack 27: how often a word occurs in what one may not see must not move a score."""
    asker = await library.principal(clearance=Classification.SECRET)
    shelf = await library.base()
    await library.document(
        shelf, "parking parking rules here", "refund rules are here now", level=Classification.SECRET
    )
    await library.statistics(shelf, {"en:park": 1_000, "en:refund": 1}, chunks=1_000)
    alone = (await ask(retrieval, asker, shelf, "parking refund", mode="keyword")).results
    await library.principal(clearance=Classification.INTERNAL)
    common = (await ask(retrieval, asker, shelf, "parking refund", mode="keyword")).results
    assert [r["content"] for r in alone] == ["refund rules are here now", "parking parking rules here"]
    assert [r["content"] for r in common] == ["parking parking rules here", "refund rules are here now"]


async def test_a_key_narrower_than_its_principal_narrows_statistics_too(
    retrieval: Retrieval, library: Library
) -> None:
    asker = await library.principal(key_clearance=Classification.PUBLIC)
    shelf = await library.base()
    await library.document(shelf, "internal words")
    await library.document(
        shelf, "parking parking rules here", "refund rules are here now", level=Classification.PUBLIC
    )
    before = (await ask(retrieval, asker, shelf, "parking refund", mode="keyword")).results
    await library.statistics(shelf, {"en:park": 1_000, "en:refund": 1}, chunks=1_000)
    after = (await ask(retrieval, asker, shelf, "parking refund", mode="keyword")).results
    assert before == after


async def test_statistics_of_a_connector_that_is_switched_off_do_not_count(
    retrieval: Retrieval, library: Library
) -> None:
    asker, shelf, connector = await library.principal(), await library.base(), await library.connector()
    await library.document(shelf, "words from elsewhere", connector=connector)
    await library.document(shelf, "parking parking rules here", "refund rules are here now")
    await library.statistics(shelf, {"en:park": 1_000, "en:refund": 1}, chunks=1_000)
    counted = contents(await ask(retrieval, asker, shelf, "parking refund", mode="keyword"))
    await library.switch(connector, is_enabled=False)
    uncounted = contents(await ask(retrieval, asker, shelf, "parking refund", mode="keyword"))
    assert counted == ["refund rules are here now", "parking parking rules here"]
    assert uncounted == ["parking parking rules here", "refund rules are here now"]


class TestWhoMayAsk:
    async def test_no_credential_opens_nothing(self, retrieval: Retrieval, library: Library) -> None:
        shelf = await library.base()
        request = QueryRequest(query="refund")
        for credential in ("", "nonsense", Credential.generate().text):
            with pytest.raises(Unauthenticated):
                await retrieval.query(credential, str(shelf.id), request, admitted)

    async def test_the_entrance_is_told_who_asks_before_anything_is_decided(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        asker = await library.principal()
        told: list[Subject] = []

        def admit(subject: Subject) -> None:
            told.append(subject)
            raise Forbidden

        with pytest.raises(Forbidden):
            await retrieval.query(asker.credential, "kb_nothing", QueryRequest(query="refund"), admit)
        assert [subject.principal for subject in told] == [asker.id]

    async def test_the_scope_is_needed_before_the_base_is_looked_for(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        asker = await library.principal(scopes=["kb:read"])
        with pytest.raises(Forbidden):
            await retrieval.query(asker.credential, "kb_nothing", QueryRequest(query="refund"), admitted)

    async def test_what_may_not_be_known_of_does_not_exist(
        self, retrieval: Retrieval, library: Library, other_library: Library
    ) -> None:
        asker, stranger = await library.principal(), await library.principal()
        hidden = await library.base(Entry(stranger.reference, Permission.MANAGE))
        denied = await library.base(
            Entry("tenant:*", Permission.READ), Entry(asker.reference, Permission.READ, "deny")
        )
        foreign = await other_library.base()
        deleted = await library.base()
        await library.execute(
            "UPDATE eai.knowledge_bases SET deleting_since = now() WHERE id = :id", id=deleted.id
        )
        references = [str(s.id) for s in (hidden, denied, foreign, deleted)]
        references += [hidden.alias, foreign.alias, "kb_nothing", "nonsense", "", "kb_\0", str(asker.id)]
        for reference in references:
            with pytest.raises(NotFound) as refusal:
                await retrieval.query(asker.credential, reference, QueryRequest(query="refund"), admitted)
            assert (type(refusal.value), refusal.value.details) == (NotFound, {})

    async def test_who_manages_every_base_reads_none_without_an_entry(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        admin = await library.principal(roles=[Role.TENANT_ADMIN, Role.MEMBER])
        shelf = await library.base(Entry("user:nobody", Permission.READ))
        with pytest.raises(PermissionMissing):
            await ask(retrieval, admin, shelf)


class TestWhatIsShown:
    async def test_only_readers_of_document_and_chunk_get_a_passage(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        """Attacks 6 and 7: the hidden sentence itself as question finds nothing of it."""
        reader, other = await library.principal(), await library.principal()
        group = await library.group(reader)
        shelf = await library.base()
        await library.document(shelf, "secret refund", Text("open refund"), readers=[group])
        await library.document(shelf, "refund for all", Text("refund for one", readers=[reader.reference]))
        await library.document(shelf, "refund for nobody", readers=[])
        mine = await ask(retrieval, reader, shelf, "secret refund")
        theirs = await ask(retrieval, other, shelf, "secret refund")
        assert sorted(contents(mine)) == ["open refund", "refund for all", "refund for one", "secret refund"]
        assert contents(theirs) == ["refund for all"]
        assert orjson.loads(theirs.body)["count"] == 1
        assert theirs.warnings == ()

    async def test_clearance_covers_the_effective_level(self, retrieval: Retrieval, library: Library) -> None:
        """Attack 8."""
        asker = await library.principal(clearance=Classification.INTERNAL)
        shelf = await library.base(classification=Classification.CONFIDENTIAL)
        await library.document(shelf, "refund by default")
        await library.document(
            shelf,
            "refund in public",
            Text("refund in secret", level=Classification.SECRET),
            level=Classification.PUBLIC,
        )
        answer = await ask(retrieval, asker, shelf)
        assert contents(answer) == ["refund in public"]

    async def test_a_base_with_only_hidden_passages_answers_like_an_empty_one(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        asker, empty, full = await library.principal(), await library.base(), await library.base()
        await library.document(full, *[f"{REFUND} {number}" for number in range(60)], readers=[])
        answers = [orjson.loads((await ask(retrieval, asker, shelf)).body) for shelf in (empty, full)]
        for answer in answers:
            assert answer.pop("knowledge_base_id")
        assert answers[0] == answers[1]

    async def test_only_the_serving_version_answers(self, retrieval: Retrieval, library: Library) -> None:
        asker, shelf = await library.principal(), await library.base()
        book = await library.document(shelf, "refund, first text")
        await library.version(shelf, book.id, "refund, second text", number=2)
        await library.version(shelf, book.id, "refund, third text", number=3, is_serving=False)
        (result,) = (await ask(retrieval, asker, shelf)).results
        assert (result["content"], result["provenance"]["version"]) == ("refund, second text", "2")

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE eai.kb_documents SET deleting_since = now() WHERE id = :document",
            "UPDATE eai.kb_document_versions SET status = 'quarantined' WHERE document_id = :document",
            "UPDATE eai.kb_documents SET readers = '{}' WHERE id = :document",
            "UPDATE eai.kb_documents SET classification = 4 WHERE id = :document",
            "UPDATE eai.kb_chunks SET readers = '{}' WHERE document_id = :document",
            "UPDATE eai.kb_chunks SET classification = 4 WHERE document_id = :document",
        ],
    )
    async def test_a_change_of_rows_counts_at_once(
        self, retrieval: Retrieval, library: Library, change: str
    ) -> None:
        """Attack 9: before anything is projected into the index."""
        asker, shelf = await library.principal(), await library.base()
        book = await library.document(shelf, REFUND)
        await library.document(shelf, PARKING)
        assert len(contents(await ask(retrieval, asker, shelf))) == 2
        await library.execute(change, document=book.id)
        assert contents(await ask(retrieval, asker, shelf)) == [PARKING]

    async def test_hidden_hits_in_front_do_not_shorten_the_answer(
        self, retrieval: Retrieval, library: Library
    ) -> None:
        """The index still shows 120 passages of a document that was just closed; the search goes deeper."""
        asker, shelf = await library.principal(), await library.base()
        closed = await library.document(shelf, *[f"{REFUND} {number}" for number in range(120)])
        await library.document(shelf, PARKING, "Lunch is at noon.")
        await library.execute("UPDATE eai.kb_documents SET readers = '{}' WHERE id = :id", id=closed.id)
        answer = await ask(retrieval, asker, shelf)
        assert sorted(contents(answer)) == ["Lunch is at noon.", PARKING]
        assert answer.warnings == ()
