"""The port on a Qdrant server, in the layout of Haystack's own Qdrant store.

Points are written through that store, so that any Haystack retriever can read the collection.
Collections are made here: the store's own set-up deletes a collection that another process made between
two of its calls. Only the asynchronous client is used: in memory, the synchronous one is another database.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import UUID

from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from haystack_integrations.document_stores.qdrant.converters import DENSE_VECTORS_NAME, SPARSE_VECTORS_NAME
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

from eai.integrations.qdrant import server_values as values
from eai.integrations.qdrant.checks import check_points, check_search, check_sparse
from eai.integrations.qdrant.payload import GENERATION, INDEXED, RIGHTS
from eai.integrations.qdrant.ranking import TIE_LIMIT, TIE_SLACK, ends_in_a_tie, ranked
from eai.kernel.ids import PointId
from eai.knowledge.ports import (
    Hit,
    Point,
    PointPage,
    SearchHits,
    SearchRequest,
    Selector,
    SpaceId,
    SparseVector,
    VectorStoreUnavailable,
)

DEADLINE_S = 10.0
BATCH_POINTS = 256
MANY_GENERATIONS = 1_000_000
OWNER, OWNER_FIELD, OWNER_POINT = "eai_owner", "owner", 1
"""A collection without vectors, and so no space, whose one point says whose the store is."""
KEYWORD = models.PayloadSchemaType.KEYWORD


class QdrantVectors:
    """A Qdrant server as the vector store, over REST. `client` replaces the connection in tests.

    Nothing is opened before the first call. Every call, and every 256 points of a write, has `deadline_s`.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        deadline_s: float = DEADLINE_S,
        client: AsyncQdrantClient | None = None,
    ) -> None:
        self._deadline_s = deadline_s
        self._client = client or AsyncQdrantClient(
            url=url.rstrip("/"), api_key=api_key, timeout=math.ceil(deadline_s), check_compatibility=False
        )
        self._stores: dict[str, QdrantDocumentStore] = {}

    async def ensure_space(self, space: SpaceId) -> None:
        async with self._reaching():
            dimensions = await self._prepare(space)
        if dimensions != space.dimensions:
            raise ValueError(f"{space.name} has {dimensions} dimensions, not {space.dimensions}")

    async def upsert(self, space: SpaceId, points: Sequence[Point]) -> None:
        check_points(points, space.dimensions)
        for start in range(0, len(points), BATCH_POINTS):
            documents = [values.document(point) for point in points[start : start + BATCH_POINTS]]
            async with self._reaching():
                await self._store(space).write_documents_async(documents, DuplicatePolicy.OVERWRITE)

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        check_search(request, space.dimensions)
        async with self._reaching():
            if request.filter.rights_keys == () and await self._exists(space):
                return SearchHits()
            answers = await self._query(space, request, TIE_SLACK)
            if any(ends_in_a_tie(points, request.limit) for points in answers):
                answers = await self._query(space, request, TIE_LIMIT)
        legs = (_hits(points, request.limit) for points in answers)
        return SearchHits(
            dense=() if request.dense is None else next(legs),
            sparse=() if request.sparse is None else next(legs),
        )

    async def set_rights(self, space: SpaceId, selector: Selector, rights_key: str) -> None:
        async with self._reaching():
            if await self._exists(space):
                await self._client.set_payload(
                    space.name,
                    {RIGHTS: rights_key},
                    points=values.selection(selector),
                    key=values.META,
                    wait=True,
                )

    async def set_sparse(self, space: SpaceId, weights: Mapping[PointId, SparseVector]) -> None:
        for vector in weights.values():
            check_sparse(vector)
        by_id = {values.stored_id(each): vector for each, vector in weights.items()}
        ids = list(by_id)
        for start in range(0, len(ids), BATCH_POINTS):
            async with self._reaching():
                await self._reweight(space, {each: by_id[each] for each in ids[start : start + BATCH_POINTS]})

    async def delete(self, space: SpaceId, selector: Selector) -> None:
        async with self._reaching():
            if await self._exists(space):
                chosen = models.FilterSelector(filter=values.selection(selector))
                await self._client.delete(space.name, chosen, wait=True)

    async def count(self, space: SpaceId, selector: Selector) -> int:
        async with self._reaching():
            if not await self._exists(space):
                return 0
            answer = await self._client.count(space.name, count_filter=values.selection(selector), exact=True)
        return answer.count

    async def spaces(self) -> Sequence[SpaceId]:
        async with self._reaching():
            names = [each.name for each in (await self._client.get_collections()).collections]
            states = [(name, await self._client.get_collection(name)) for name in sorted(names)]
        spaces = ((name, values.dimensions_of(state)) for name, state in states)
        return [SpaceId(name, size) for name, size in spaces if size is not None]

    async def generations(self, space: SpaceId) -> Mapping[str, int]:
        async with self._reaching():
            if not await self._exists(space):
                return {}
            key = f"{values.META}.{GENERATION}"
            answer = await self._client.facet(space.name, key, limit=MANY_GENERATIONS, exact=True)
        return {str(hit.value): hit.count for hit in answer.hits}

    async def scan(
        self,
        space: SpaceId,
        selector: Selector,
        *,
        begin: str | None = None,
        limit: int = 512,
        with_vectors: bool = False,
    ) -> PointPage:
        async with self._reaching():
            if not await self._exists(space):
                return PointPage((), None)
            records, following = await self._client.scroll(
                space.name,
                values.selection(selector),
                offset=begin,
                limit=limit,
                with_payload=["id", values.META],
                with_vectors=with_vectors,
            )
        return PointPage(tuple(map(values.found, records)), None if following is None else str(following))

    async def owner(self) -> str | None:
        async with self._reaching():
            if not await self._client.collection_exists(OWNER):
                return None
            noted = await self._client.retrieve(OWNER, [OWNER_POINT])
        return str((noted[0].payload or {})[OWNER_FIELD]) if noted else None

    async def take(self, owner: str) -> None:
        note = models.PointStruct(id=OWNER_POINT, vector={}, payload={OWNER_FIELD: owner})
        async with self._reaching():
            if not await self._client.collection_exists(OWNER):
                # When another process makes it meanwhile, it is there all the same.
                with suppress(ApiException, ValueError):
                    await self._client.create_collection(OWNER, vectors_config={})
            await self._client.upsert(OWNER, [note], wait=True)

    async def check(self) -> None:
        async with self._reaching():
            await self._client.get_collections()

    async def close(self) -> None:
        await self._client.close()

    @asynccontextmanager
    async def _reaching(self) -> AsyncIterator[None]:
        """What is wrong in here is the server's fault: the caller's was refused before."""
        try:
            async with asyncio.timeout(self._deadline_s):
                yield
        except (ApiException, QdrantException, OSError, ValueError, KeyError) as error:
            raise VectorStoreUnavailable from error

    async def _query(
        self, space: SpaceId, request: SearchRequest, more: int
    ) -> list[list[models.ScoredPoint]]:
        queries = values.queries(request, request.limit + more)
        return [answer.points for answer in await self._client.query_batch_points(space.name, queries)]

    async def _prepare(self, space: SpaceId) -> int:
        """Make the collection unless it exists; return the dimensions it has."""
        if not await self._exists(space):
            await self._create(space)
        state = await self._client.get_collection(space.name)
        for field in (f"{values.META}.{name}" for name in INDEXED):
            if field not in state.payload_schema:
                await self._client.create_payload_index(space.name, field, KEYWORD, wait=True)
        dimensions = values.dimensions_of(state)
        if dimensions is None:
            raise ValueError(f"the collection {space.name} was made by somebody else")
        return dimensions

    async def _create(self, space: SpaceId) -> None:
        dense = models.VectorParams(size=space.dimensions, distance=models.Distance.COSINE)
        # When another process makes it meanwhile, what it then is, is read next.
        with suppress(ApiException, ValueError):
            await self._client.create_collection(
                space.name,
                vectors_config={DENSE_VECTORS_NAME: dense},
                sparse_vectors_config={SPARSE_VECTORS_NAME: models.SparseVectorParams()},
            )

    async def _exists(self, space: SpaceId) -> bool:
        return await self._client.collection_exists(space.name)

    async def _reweight(self, space: SpaceId, weights: Mapping[str, SparseVector]) -> None:
        if not await self._exists(space):
            return
        # The server refuses the whole update for one id that it does not know.
        known = await self._client.retrieve(space.name, list(weights), with_payload=False, with_vectors=False)
        ids = [UUID(str(record.id)).hex for record in known]
        vectors = [values.reweighted(each, weights[each]) for each in ids]
        if vectors:
            await self._client.update_vectors(space.name, vectors, wait=True)

    def _store(self, space: SpaceId) -> QdrantDocumentStore:
        if space.name not in self._stores:
            store = QdrantDocumentStore(
                index=space.name,
                embedding_dim=space.dimensions,
                use_sparse_embeddings=True,
                progress_bar=False,
                write_batch_size=BATCH_POINTS,
            )
            # One connection for all spaces, and a store that is given one does not set up the collection.
            store._async_client = self._client  # noqa: SLF001
            self._stores[space.name] = store
        return self._stores[space.name]


def _hits(points: Sequence[models.ScoredPoint], limit: int) -> tuple[Hit, ...]:
    return tuple(Hit(identity, score) for identity, score in ranked(points, limit, values.own_id))
