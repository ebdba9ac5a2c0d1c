"""What every vector store promises, on the embedded engine and on a Qdrant server."""

import os
from collections.abc import AsyncIterator, Sequence
from uuid import uuid4

import pytest
from qdrant_client import AsyncQdrantClient

from eai.integrations.qdrant.client import EngineVectors
from eai.integrations.qdrant.server import QdrantVectors
from eai.knowledge.ports import (
    Hit,
    PointPage,
    SearchFilter,
    SearchHits,
    SearchRequest,
    Selector,
    SpaceId,
    StoredPoint,
    Vector,
    Vectors,
    VectorStoreUnavailable,
)
from tests.engine import running_engine
from tests.factories.vectors import (
    DOCUMENT_1,
    DOCUMENT_2,
    EAST,
    GENERATION,
    MINE,
    NORTH,
    NORTH_EAST,
    THEIRS,
    VERSION_1,
    VERSION_2,
    WEST,
    dense,
    identity,
    point,
    sparse,
)
from tests.fakes.memory_vectors import MemoryVectors


async def search(
    vectors: Vectors, space: SpaceId, keys: Sequence[str] | None = (f"{MINE}:1",), *, limit: int = 10
) -> SearchHits:
    scope = SearchFilter(MINE, None if keys is None else tuple(keys))
    return await vectors.search(space, SearchRequest(scope, limit, dense=EAST, sparse=sparse({7: 2.0})))


def found(hits: SearchHits) -> tuple[set[int], set[int]]:
    return {hit.id.int for hit in hits.dense}, {hit.id.int for hit in hits.sparse}


def assert_hits(hits: Sequence[Hit], expected: list[tuple[int, float]]) -> None:
    assert [hit.id.int for hit in hits] == [number for number, _ in expected]
    assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=1e-6)


class VectorsContract:
    """Inherit it, and provide the fixture `vectors`."""

    @pytest.fixture
    async def space(self, vectors: Vectors) -> SpaceId:
        space = SpaceId(f"space_{uuid4().hex}", 3)
        await vectors.ensure_space(space)
        return space

    async def test_the_dense_leg_gives_cosines_best_first(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(
            space, [point(1, NORTH), point(2, NORTH_EAST), point(3, WEST), point(4, dense(5, 0, 0))]
        )
        hits = await search(vectors, space)
        assert_hits(hits.dense, [(4, 1.0), (2, 0.70710678), (1, 0.0), (3, -1.0)])

    async def test_the_sparse_leg_gives_dot_products_and_only_what_shares_a_term(
        self, vectors: Vectors, space: SpaceId
    ) -> None:
        await vectors.upsert(
            space,
            [
                point(1, EAST, {7: 1.5, 8: 9.0}),
                point(2, EAST, {7: 0.25}),
                point(3, EAST, {8: 3.0}),
                point(4, EAST, {}),
                point(5, EAST, {7: 2.0, 4_294_967_295: 1.0}),
            ],
        )
        request = SearchRequest(SearchFilter(MINE, None), 10, sparse=sparse({7: 2.0, 4_294_967_295: 3.0}))
        hits = await vectors.search(space, request)
        assert_hits(hits.sparse, [(5, 7.0), (1, 3.0), (2, 0.5)])
        assert hits.dense == ()

    async def test_a_leg_that_was_not_asked_for_is_empty(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(space, [point(1, EAST)])
        hits = await vectors.search(space, SearchRequest(SearchFilter(MINE, None), 10, dense=EAST))
        assert hits == SearchHits(dense=(Hit(identity(1), 1.0),))

    async def test_ties_are_ordered_by_id_even_across_the_cut(self, vectors: Vectors, space: SpaceId) -> None:
        numbers = [5, 3, 9, 1, 7, 2, 8]
        await vectors.upsert(space, [point(number, EAST) for number in numbers])
        hits = await search(vectors, space, limit=3)
        assert_hits(hits.dense, [(1, 1.0), (2, 1.0), (3, 1.0)])
        assert_hits(hits.sparse, [(1, 2.0), (2, 2.0), (3, 2.0)])

    async def test_a_tie_of_hundreds_is_settled_by_id_too(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(space, [point(number) for number in range(300, 0, -1)])
        hits = await search(vectors, space, limit=3)
        assert_hits(hits.dense, [(1, 1.0), (2, 1.0), (3, 1.0)])
        assert_hits(hits.sparse, [(1, 2.0), (2, 2.0), (3, 2.0)])

    async def test_both_legs_honour_the_rights_keys(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(
            space,
            [point(number, EAST, rights=f"{MINE}:{number}") for number in range(1, 6)],
        )
        hits = await search(vectors, space, [f"{MINE}:2", f"{MINE}:5", f"{MINE}:77"])
        assert found(hits) == ({2, 5}, {2, 5})

    async def test_no_rights_keys_match_nothing(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(space, [point(1, EAST)])
        assert await search(vectors, space, []) == SearchHits()

    async def test_without_rights_keys_the_whole_generation_matches(
        self, vectors: Vectors, space: SpaceId
    ) -> None:
        await vectors.upsert(
            space,
            [
                point(1, EAST, rights=f"{MINE}:1"),
                point(2, EAST, rights=f"{MINE}:2"),
                point(3, EAST, rights=f"{THEIRS}:1"),
            ],
        )
        assert found(await search(vectors, space, None)) == ({1, 2}, {1, 2})

    async def test_a_thousand_rights_keys_are_one_filter(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(
            space,
            [
                point(1, EAST, rights=f"{MINE}:0"),
                point(2, EAST, rights=f"{MINE}:999"),
                point(3, EAST, rights=f"{MINE}:1000"),
                point(4, EAST, rights=f"{THEIRS}:5"),
            ],
        )
        hits = await search(vectors, space, [f"{MINE}:{number}" for number in range(1000)])
        assert found(hits) == ({1, 2}, {1, 2})

    async def test_another_generation_is_never_returned_by_its_neighbours_keys(
        self, vectors: Vectors, space: SpaceId
    ) -> None:
        await vectors.upsert(space, [point(1, EAST, rights=f"{THEIRS}:1")])
        assert await search(vectors, space, [f"{MINE}:1"]) == SearchHits()
        assert await search(vectors, space, None) == SearchHits()
        assert await vectors.count(space, GENERATION) == 0
        await vectors.delete(space, GENERATION)
        await vectors.set_rights(space, GENERATION, f"{MINE}:1")
        assert await vectors.count(space, Selector(THEIRS)) == 1
        assert await search(vectors, space, [f"{MINE}:1"]) == SearchHits()

    async def test_set_rights_moves_points_and_leaves_their_vectors(
        self, vectors: Vectors, space: SpaceId
    ) -> None:
        await vectors.upsert(
            space, [point(1, NORTH_EAST, {7: 1.5}), point(2, EAST, {7: 1.0}, document=DOCUMENT_2)]
        )
        await vectors.set_rights(space, Selector(MINE, document=DOCUMENT_1), f"{MINE}:9")
        moved, left = await search(vectors, space, [f"{MINE}:9"]), await search(vectors, space)
        assert_hits(moved.dense, [(1, 0.70710678)])
        assert_hits(moved.sparse, [(1, 3.0)])
        assert found(left) == ({2}, {2})
        assert await vectors.count(space, Selector(MINE, document=DOCUMENT_1, version=VERSION_1)) == 1

    async def test_set_sparse_replaces_weights_and_ignores_unknown_ids(
        self, vectors: Vectors, space: SpaceId
    ) -> None:
        await vectors.upsert(space, [point(1, NORTH_EAST, {7: 1.0, 8: 1.0}), point(2, EAST, {7: 1.0})])
        await vectors.set_sparse(
            space, {identity(99): sparse({7: 5.0}), identity(1): sparse({7: 4.0}), identity(2): sparse({})}
        )
        hits = await search(vectors, space)
        assert_hits(hits.sparse, [(1, 8.0)])
        assert_hits(hits.dense, [(2, 1.0), (1, 0.70710678)])
        assert await vectors.count(space, GENERATION) == 2

    async def test_delete_removes_what_every_field_selects(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(
            space,
            [
                point(1, EAST, document=DOCUMENT_1, version=VERSION_1),
                point(2, EAST, document=DOCUMENT_1, version=VERSION_2),
                point(3, EAST, document=DOCUMENT_2, version=VERSION_2),
                point(4, EAST, document=DOCUMENT_2, version=VERSION_2),
            ],
        )
        await vectors.delete(space, Selector(MINE, document=DOCUMENT_1, version=VERSION_2))
        assert found(await search(vectors, space)) == ({1, 3, 4}, {1, 3, 4})
        await vectors.delete(space, Selector(MINE, document=DOCUMENT_2, ids=(identity(1), identity(4))))
        assert found(await search(vectors, space)) == ({1, 3}, {1, 3})
        await vectors.delete(space, Selector(MINE, ids=()))
        assert await vectors.count(space, GENERATION) == 2
        await vectors.delete(space, GENERATION)
        assert await search(vectors, space) == SearchHits()

    async def test_counts_are_exact(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(space, [point(n, EAST, rights=f"{MINE}:{n % 3}") for n in range(1, 301)])
        await vectors.upsert(space, [point(n, EAST, document=DOCUMENT_2) for n in range(301, 351)])
        assert await vectors.count(space, GENERATION) == 350
        assert await vectors.count(space, Selector(MINE, document=DOCUMENT_2)) == 50
        chosen = Selector(MINE, document=DOCUMENT_2, ids=(identity(1), identity(301), identity(999)))
        assert await vectors.count(space, chosen) == 1
        await vectors.delete(space, Selector(MINE, document=DOCUMENT_1))
        assert await vectors.count(space, GENERATION) == 50

    async def test_the_same_point_twice_is_one_point_as_last_written(
        self, vectors: Vectors, space: SpaceId
    ) -> None:
        await vectors.upsert(space, [point(1, EAST, {7: 1.0}), point(2, EAST)])
        await vectors.upsert(space, [point(1, NORTH, {7: 3.0}, rights=f"{MINE}:5")])
        assert await vectors.count(space, GENERATION) == 2
        hits = await search(vectors, space, [f"{MINE}:5"])
        assert_hits(hits.dense, [(1, 0.0)])
        assert_hits(hits.sparse, [(1, 6.0)])

    async def test_spaces_of_equal_dimensions_never_mix(self, vectors: Vectors, space: SpaceId) -> None:
        other = SpaceId(f"space_{uuid4().hex}", 3)
        await vectors.ensure_space(other)
        await vectors.upsert(space, [point(1, EAST)])
        await vectors.upsert(other, [point(2, EAST)])
        assert found(await search(vectors, space)) == ({1}, {1})
        assert found(await search(vectors, other)) == ({2}, {2})
        await vectors.delete(other, GENERATION)
        assert await vectors.count(space, GENERATION) == 1

    async def test_an_unknown_space_is_an_outage_to_searchers_and_empty_to_counters(
        self, vectors: Vectors
    ) -> None:
        unknown = SpaceId(f"space_{uuid4().hex}", 3)
        with pytest.raises(VectorStoreUnavailable):
            await search(vectors, unknown)
        with pytest.raises(VectorStoreUnavailable):
            await search(vectors, unknown, [])
        with pytest.raises(VectorStoreUnavailable):
            await vectors.upsert(unknown, [point(1, EAST)])
        assert await vectors.count(unknown, GENERATION) == 0
        await vectors.delete(unknown, GENERATION)
        await vectors.set_rights(unknown, GENERATION, f"{MINE}:1")
        await vectors.set_sparse(unknown, {identity(1): sparse({1: 1.0})})
        with pytest.raises(VectorStoreUnavailable):
            await search(vectors, unknown)

    async def test_ensuring_a_space_again_keeps_its_points(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(space, [point(1, EAST)])
        await vectors.ensure_space(space)
        assert await vectors.count(space, GENERATION) == 1

    async def test_a_space_keeps_its_dimensions(self, vectors: Vectors, space: SpaceId) -> None:
        with pytest.raises(ValueError, match="3 dimensions, not 4"):
            await vectors.ensure_space(SpaceId(space.name, 4))

    @pytest.mark.parametrize("wrong", [dense(1, 0), dense(1, float("nan"), 0), dense(1, float("inf"), 0)])
    async def test_a_vector_that_does_not_fit_is_refused_whole(
        self, vectors: Vectors, space: SpaceId, wrong: Vector
    ) -> None:
        with pytest.raises(ValueError, match="a vector"):
            await vectors.upsert(space, [point(1, EAST), point(2, wrong)])
        assert await vectors.count(space, GENERATION) == 0
        with pytest.raises(ValueError, match="a vector"):
            await vectors.search(space, SearchRequest(SearchFilter(MINE, None), 5, dense=wrong))

    async def test_a_scan_tells_every_selected_point_once_with_what_it_carries(
        self, vectors: Vectors, space: SpaceId
    ) -> None:
        await vectors.upsert(space, [point(n, rights=f"{MINE}:{n % 3}") for n in range(1, 26)])
        await vectors.upsert(space, [point(30, document=DOCUMENT_2, version=VERSION_2)])
        await vectors.upsert(space, [point(40, rights=f"{THEIRS}:1")])
        pages, begin = [], None
        while True:
            page = await vectors.scan(space, GENERATION, begin=begin, limit=10)
            pages.append(page.points)
            if (begin := page.next) is None:
                break
        told = {each.id.int: each for page in pages for each in page}
        assert sorted(told) == [*range(1, 26), 30]
        assert sum(map(len, pages)) == 26
        assert max(map(len, pages)) == 10
        assert told[5] == StoredPoint(identity(5), f"{MINE}:2", MINE, DOCUMENT_1, VERSION_1)
        assert told[30] == StoredPoint(identity(30), f"{MINE}:1", MINE, DOCUMENT_2, VERSION_2)
        chosen = Selector(MINE, ids=(identity(3), identity(40), identity(99)))
        assert [each.id for each in (await vectors.scan(space, chosen)).points] == [identity(3)]

    async def test_a_scan_gives_vectors_to_those_who_ask(self, vectors: Vectors, space: SpaceId) -> None:
        await vectors.upsert(space, [point(1, dense(3, 0, 4), {7: 2.5, 4_294_967_295: 1.0})])
        ((plain,), _) = await vectors.scan(space, GENERATION)
        assert (plain.dense, plain.sparse) == (None, None)
        ((whole,), _) = await vectors.scan(space, GENERATION, with_vectors=True)
        assert whole.dense is not None
        assert whole.sparse is not None
        assert whole.dense.tolist() == pytest.approx([0.6, 0.0, 0.8])
        weights = dict(zip(whole.sparse.indices.tolist(), whole.sparse.values.tolist(), strict=True))
        assert weights == {7: 2.5, 4_294_967_295: 1.0}

    async def test_generations_are_counted_by_their_key(self, vectors: Vectors, space: SpaceId) -> None:
        assert await vectors.generations(space) == {}
        await vectors.upsert(space, [point(n) for n in range(1, 8)])
        await vectors.upsert(space, [point(9, rights=f"{THEIRS}:1")])
        assert await vectors.generations(space) == {MINE: 7, THEIRS: 1}

    async def test_spaces_are_told_with_their_dimensions(self, vectors: Vectors, space: SpaceId) -> None:
        other = SpaceId(f"space_{uuid4().hex}", 5)
        await vectors.ensure_space(other)
        told = await vectors.spaces()
        assert {space, other} <= set(told)
        assert [each.name for each in told] == sorted(each.name for each in told)

    async def test_an_unknown_space_has_nothing_to_tell(self, vectors: Vectors) -> None:
        unknown = SpaceId(f"space_{uuid4().hex}", 3)
        assert await vectors.scan(unknown, GENERATION) == PointPage((), None)
        assert await vectors.generations(unknown) == {}
        assert unknown not in await vectors.spaces()

    async def test_it_remembers_who_took_it_last(self, vectors: Vectors, space: SpaceId) -> None:
        # A server, and the engine of this module, may have been taken before.
        spaces = await vectors.spaces()
        await vectors.take("one")
        assert await vectors.owner() == "one"
        await vectors.take("another")
        assert await vectors.owner() == "another"
        assert await vectors.spaces() == spaces
        await vectors.upsert(space, [point(1, EAST)])
        assert await vectors.count(space, GENERATION) == 1

    async def test_it_says_that_it_answers(self, vectors: Vectors) -> None:
        await vectors.check()


@pytest.fixture(scope="module")
async def engine_vectors(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Vectors]:
    async with running_engine(tmp_path_factory.mktemp("home")) as engine:
        vectors = EngineVectors(engine.socket)
        yield vectors
        await vectors.close()


class TestEngineVectors(VectorsContract):
    @pytest.fixture
    def vectors(self, engine_vectors: Vectors) -> Vectors:
        return engine_vectors


class TestMemoryVectors(VectorsContract):
    """The store of the simulation keeps what the engines promise, or what is simulated is something else."""

    @pytest.fixture
    def vectors(self) -> Vectors:
        return MemoryVectors()

    async def test_a_store_that_nobody_took_has_no_owner(self, vectors: Vectors) -> None:
        assert await vectors.owner() is None


# Neither warning changes an answer: in memory the client scans every point, and says so.
@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
@pytest.mark.filterwarnings("ignore:Local mode performs exact")
class TestQdrantVectorsInMemory(VectorsContract):
    @pytest.fixture
    async def vectors(self) -> AsyncIterator[Vectors]:
        vectors = QdrantVectors("http://memory", client=AsyncQdrantClient(location=":memory:"))
        yield vectors
        await vectors.close()

    async def test_a_store_that_nobody_took_has_no_owner(self, vectors: Vectors) -> None:
        assert await vectors.owner() is None


@pytest.mark.needs("qdrant")
@pytest.mark.skipif("EAI_TEST_QDRANT_URL" not in os.environ, reason="EAI_TEST_QDRANT_URL is not set")
class TestQdrantVectorsOnAServer(VectorsContract):
    @pytest.fixture
    async def vectors(self) -> AsyncIterator[Vectors]:
        url = os.environ["EAI_TEST_QDRANT_URL"]
        vectors = QdrantVectors(url, os.environ.get("EAI_TEST_QDRANT_API_KEY"))
        yield vectors
        await vectors.close()
