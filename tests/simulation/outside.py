"""What the services reach outside PostgreSQL: the store and two models, behind gates."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import RegisteredModel, space_of
from eai.integrations.local_models.hashing import HashEmbedder, hash_vector
from eai.knowledge.ports import SearchHits, SearchRequest, SpaceId, Vector, VectorStoreUnavailable
from tests.fakes.memory_vectors import MemoryVectors
from tests.simulation.scheduler import Actor, Scheduler, current_actor

LOST, UNANSWERED = "lost", "unanswered"
"""How a call of the store may go wrong: it never arrives, or its answer never does."""

WRITES = {"upsert", "delete", "set_rights", "set_sparse", "take"}

ONE = LOCAL_HASH_256
OTHER = replace(LOCAL_HASH_256, name="local-hash-turned", provider_model="hash-turned")
"""As many dimensions, and nothing in common."""


def vector_of(model: str, text: str) -> Vector:
    """What a model makes of a text."""
    vector: Vector = hash_vector(text)
    return vector if model == ONE.name else np.roll(vector, 7)


class GatedEmbedder:
    def __init__(self, scheduler: Scheduler, model: str) -> None:
        self._scheduler = scheduler
        self._model = model
        self._inner = HashEmbedder()

    async def warm_up(self) -> None:
        """There is nothing to load."""

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        await self._scheduler.step(f"model {self._model}")
        made = await self._inner.embed(texts, role)
        return made if self._model == ONE.name else replace(made, vectors=np.roll(made.vectors, 7, axis=1))


def models(scheduler: Scheduler) -> dict[str, RegisteredModel]:
    return {
        model.name: RegisteredModel(model, GatedEmbedder(scheduler, model.name)) for model in (ONE, OTHER)
    }


MODEL_OF_SPACE = {space_of(model).name: model.name for model in (ONE, OTHER)}

OnSearch = Callable[[Actor, SpaceId, SearchRequest, SearchHits], None]


class GatedVectors:
    """The store of whichever schedule runs."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.inner = MemoryVectors()
        self.is_changed = False
        self.on_search: OnSearch = lambda *_: None

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*arguments: Any, **options: Any) -> Any:
            how = await self._scheduler.step(f"vectors.{name}")
            if how == LOST:
                raise VectorStoreUnavailable
            answer = await getattr(self.inner, name)(*arguments, **options)
            self.is_changed |= name in WRITES
            actor = current_actor()
            if name == "search" and actor is not None:
                self.on_search(actor, *arguments, answer)
            if how == UNANSWERED:
                raise VectorStoreUnavailable
            return answer

        return call
