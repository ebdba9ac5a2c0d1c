"""What the gateway needs from outside: something that turns texts into vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eai.access.classification import Classification


class EmbeddingRole(StrEnum):
    """Which side of a search a text is on; asymmetric models embed the two differently."""

    DOCUMENT = "document"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class Embedded:
    """What an embedder answered: `vectors` is float32 of shape (texts, dimensions); `tokens` as measured."""

    vectors: NDArray[np.float32]
    tokens: int


class Embedder(Protocol):
    """Turns texts into vectors of one embedding space."""

    async def warm_up(self) -> None:
        """Load what the first call would otherwise wait for; harmless to repeat."""
        ...

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        """One vector per text, in the order of `texts`."""
        ...


@dataclass(frozen=True, slots=True)
class FusionRule:
    """How a model's hits join the keyword leg's in a hybrid search; both numbers are measured.

    `dense_weight` (0 to 1) is the share of the model's leg. `dense_floor` is the cosine that texts
    with nothing in common still reach under this model: up to it, likeness counts as none.
    """

    dense_weight: float
    dense_floor: float = 0.0


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A registered embedding model. `name` is what users write; the rest says what it may see.

    `revision` and `preprocessing` change whenever the same text would give another vector.
    `is_semantic` is false for a stand-in that only compares spelling; `allowed_in_production` is
    false where such a stand-in may not serve.
    """

    name: str
    provider: str
    provider_model: str
    revision: str
    preprocessing: str
    dimensions: int
    classification_ceiling: Classification
    region: str
    fusion: FusionRule
    is_semantic: bool
    allowed_in_production: bool
