"""Removes points from the vector store, and counts there what is left."""

from collections.abc import Sequence

from eai.kernel.ids import DocumentId, VersionId
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.ports import Vectors, VectorStoreUnavailable


class Points:
    """The points of generations, as far as a deletion is concerned with them."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def count(
        self,
        generations: Sequence[StoredGeneration],
        document: DocumentId | None = None,
        version: VersionId | None = None,
    ) -> int:
        """How many the engine holds. Raises VectorStoreUnavailable."""
        counts = [
            await self._vectors.count(generation.space, generation.selector(document, version))
            for generation in generations
        ]
        return sum(counts)

    async def remove(
        self,
        generations: Sequence[StoredGeneration],
        document: DocumentId | None = None,
        version: VersionId | None = None,
    ) -> None:
        """Remove them from every generation; the engine has counted none afterwards.

        Raises VectorStoreUnavailable, also when some are left.
        """
        for generation in generations:
            selector = generation.selector(document, version)
            if await self._vectors.count(generation.space, selector):
                await self._vectors.delete(generation.space, selector)
        if await self.count(generations, document, version):
            raise VectorStoreUnavailable
