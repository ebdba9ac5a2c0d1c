"""What one may not see moves nothing of what one sees: rights take passages out of a ranking and do no more.

The peer is the same index without rights: each leg must be that leg with the hidden passages left out, to
the last score, and the answer what the model's rule makes of those two lists.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import orjson
import pytest
from sqlalchemy import text

from eai.access.classification import LEVELS, Classification
from eai.access.rights_class import generation_key, rights_key
from eai.audit.service import Audit
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.kernel.ids import ChunkId, DocumentId, PointId, point_id
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers
from eai.knowledge.lexical import analyse_query, query_weights
from eai.knowledge.ports import Hit, SearchFilter, SearchHits, SearchRequest, Selector, SpaceId, Vectors
from eai.platform.database import Database
from eai.retrieval.fusion import ScoredHit, fuse
from eai.retrieval.repository import QueryRows
from eai.retrieval.service import Retrieval
from tests.factories.retrieval import PEPPERS, SPACE, Asker, Library, Shelf, ask, local_gateway
from tests.factories.stores import Around

ASSIGNMENTS, BATCHES = 1_000, 4
DOCUMENTS, PASSAGES = 40, 3
"""More passages than a leg fetches, so that what is hidden would also show at the cut."""
WORDS = "refund parcel depot letter harbour invoice pump valve ledger river garden tariff".split()
CLEARANCE = Classification.CONFIDENTIAL

# Hundreds of assignments, each searched whole: minutes beside the rest of the suite.
pytestmark = pytest.mark.timeout(600)

Readers = frozenset[str] | None
Rights = tuple[Readers, Classification | None]


class Recorded(Around):
    """Keeps what was asked of the index, and what it answered."""

    def __init__(self, inner: Vectors) -> None:
        super().__init__(inner)
        self.searches: list[tuple[SearchRequest, SearchHits]] = []

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        hits = await self._inner.search(space, request)
        self.searches.append((request, hits))
        return hits


@dataclass(frozen=True)
class Stock:
    """A base whose passages are given other rights time and again, and somebody who asks it."""

    library: Library
    shelf: Shelf
    asker: Asker
    mine: str
    theirs: str
    passages: Mapping[PointId, DocumentId]
    frequencies: Mapping[str, int]

    async def give(self, documents: Mapping[DocumentId, Rights], chunks: Mapping[PointId, Rights]) -> None:
        """Give rights to everything, in rows and in the index."""
        library, shelf = self.library, self.shelf
        classes = {
            point: ClassRights(
                readers=documents[document][0],
                chunk_readers=chunks[point][0],
                classification=documents[document][1],
                chunk_classification=chunks[point][1],
                connector="direct",
            )
            for point, document in self.passages.items()
        }
        async with library.database.transaction(library.tenant) as session:
            numbers = await class_numbers(session, library.tenant, shelf.id, set(classes.values()))
            of_points = {point: numbers[rights] for point, rights in classes.items()}
            await session.execute(text(_DOCUMENTS), {"rows": _rows(documents, {})})
            await session.execute(text(_CHUNKS), {"rows": _rows(chunks, of_points)})
        by_class: dict[int, list[PointId]] = defaultdict(list)
        for point, number in of_points.items():
            by_class[number].append(point)
        generation = generation_key(library.tenant, shelf.generation)
        for number, points in by_class.items():
            key = rights_key(library.tenant, shelf.generation, number)
            await library.vectors.set_rights(SPACE, Selector(generation, ids=tuple(points)), key)


_DOCUMENTS = """
    UPDATE eai.kb_documents d SET readers = r.readers, classification = r.level
      FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id uuid, readers text[], level smallint)
     WHERE d.id = r.id"""
_CHUNKS = """
    UPDATE eai.kb_chunks c SET readers = r.readers, classification = r.level, class_number = r.class
      FROM jsonb_to_recordset(CAST(:rows AS jsonb))
           AS r (id uuid, readers text[], level smallint, class integer)
     WHERE c.id = r.id"""


def _rows(
    rights: Mapping[DocumentId, Rights] | Mapping[PointId, Rights], numbers: Mapping[PointId, int]
) -> str:
    rows = [
        {
            "id": id_,
            "readers": None if readers is None else sorted(readers),
            "level": None if level is None else level.rank,
            "class": numbers.get(PointId(id_)),
        }
        for id_, (readers, level) in rights.items()
    ]
    return orjson.dumps(rows).decode()


async def stocked(library: Library) -> Stock:
    chance = random.Random(7)
    asker, other = await library.principal(clearance=CLEARANCE), await library.principal(clearance=CLEARANCE)
    shelf = await library.base()
    passages: dict[PointId, DocumentId] = {}
    for _ in range(DOCUMENTS):
        # Some say the same: then ids decide.
        texts = [" ".join(chance.choices(WORDS, k=chance.choice((1, 2, 9)))) for _ in range(PASSAGES)]
        book = await library.document(shelf, *texts)
        passages |= dict.fromkeys(book.points, book.id)
    frequencies = {term: 3 * place for place, term in enumerate(analyse_query(" ".join(WORDS)), start=1)}
    await library.statistics(shelf, frequencies, chunks=DOCUMENTS * PASSAGES)
    mine, theirs = await library.group(asker), await library.group(other)
    return Stock(library, shelf, asker, mine, theirs, passages, frequencies)


def some_rights(chance: random.Random, stock: Stock, count: int) -> Iterator[Rights]:
    named = (None, None, frozenset(), {stock.mine}, {stock.theirs}, {stock.mine, stock.theirs})
    for _ in range(count):
        readers = chance.choice(named)
        yield None if readers is None else frozenset(readers), chance.choice((None, None, *LEVELS))


def may_see(stock: Stock, document: Rights, chunk: Rights) -> bool:
    """The rule, in words of its own: the base is internal, and whoever asks is in one of the two groups."""
    level = max(1 if document[1] is None else document[1].rank, 0 if chunk[1] is None else chunk[1].rank)
    return level <= CLEARANCE.rank and all(
        named is None or stock.mine in named for named, _ in (document, chunk)
    )


def restricted(leg: Sequence[Hit], permitted: set[PointId], limit: int) -> tuple[Hit, ...]:
    return tuple([hit for hit in leg if hit.id in permitted][:limit])


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_both_legs_and_their_fusion_are_the_ungoverned_ones_without_what_is_hidden(
    database: Database, vectors: Vectors, audit: Audit, library: Library, batch: int
) -> None:
    chance, stock = random.Random(batch), await stocked(library)
    index = Recorded(vectors)
    retrieval = Retrieval(
        QueryRows(database, PEPPERS), local_gateway(database, audit), index, audit, store="embedded"
    )
    everything = SearchFilter(generation_key(library.tenant, stock.shelf.generation), None)
    hidden = cut = 0
    for _ in range(ASSIGNMENTS // BATCHES):
        of_documents, of_chunks = [*some_rights(chance, stock, 2)], [*some_rights(chance, stock, 3)]
        documents = {document: chance.choice(of_documents) for document in set(stock.passages.values())}
        chunks = {point: chance.choice(of_chunks) for point in stock.passages}
        await stock.give(documents, chunks)
        permitted = {p for p, d in stock.passages.items() if may_see(stock, documents[d], chunks[p])}

        question = " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))
        top_k = chance.choice((3, 10, 40))
        index.searches.clear()
        answer = await ask(retrieval, stock.asker, stock.shelf, question, top_k=top_k)

        fused: Sequence[ScoredHit] = ()
        for request, hits in index.searches:
            bare = await vectors.search(SPACE, replace(request, filter=everything, limit=1_000))
            assert len(bare.dense) == len(stock.passages)
            assert hits.dense == restricted(bare.dense, permitted, request.limit)
            assert hits.sparse == restricted(bare.sparse, permitted, request.limit)
            weights = query_weights(analyse_query(question), stock.frequencies, {"en": len(stock.passages)})
            fused = fuse(hits.dense, hits.sparse, LOCAL_HASH_256.fusion, weights.attainable)[:top_k]
            cut += len(hits.dense) == request.limit
        found = [
            ScoredHit(
                point_id(ChunkId(UUID(result["chunk_id"])), stock.shelf.generation),
                *(result[score] for score in ("score", "vector_score", "keyword_score")),
            )
            for result in answer.results
        ]
        assert found == [*fused]
        assert len(found) == min(top_k, len(permitted))
        hidden += len(stock.passages) - len(permitted)
    # Else this would prove nothing.
    assert hidden > 30 * ASSIGNMENTS // BATCHES
    assert cut > ASSIGNMENTS // BATCHES // 20
