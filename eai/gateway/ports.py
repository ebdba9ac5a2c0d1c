"""What the gateway needs from outside: models that run here, and providers that run elsewhere."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from eai.gateway.registry import Endpoint, Model


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
    """Turns texts into vectors of one embedding space, inside this process."""

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
class ChatMessage:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Target:
    """Where one attempt goes. `api_key` is in the clear: it lives for this attempt only, and has no repr."""

    model: "Model"
    endpoint: "Endpoint"
    api_key: str | None
    deadline_s: float

    def __repr__(self) -> str:
        return f"Target({self.model.name!r} at {self.endpoint.name!r})"


@dataclass(frozen=True, slots=True)
class ProviderEmbeddings:
    """As the provider answered, not yet checked: (index, vector) pairs, its model's name, its own count."""

    items: Sequence[tuple[int, Sequence[float]]]
    model: str | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class ProviderRanking:
    """As the provider answered, not yet checked: (index, score) pairs."""

    items: Sequence[tuple[int, float]]
    model: str | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class ProviderCompletion:
    """As the provider answered, not yet checked. Token counts are its own."""

    content: str
    finish_reason: str | None
    model: str | None
    read_tokens: int | None
    written_tokens: int | None


@dataclass(frozen=True, slots=True)
class ProviderDelta:
    """A piece of a streamed answer; the last ones may bring the reason it ended and the counts."""

    content: str = ""
    finish_reason: str | None = None
    model: str | None = None
    read_tokens: int | None = None
    written_tokens: int | None = None


class Provider(Protocol):
    """Speaks to providers of one kind. Makes one attempt; retries are the gateway's.

    Raises ProviderFailure (eai/gateway/attempts.py) for an attempt that failed, which says whether another
    may succeed; ProviderResponseInvalid for an answer that cannot be read.
    """

    async def embed(
        self, target: Target, texts: Sequence[str], role: EmbeddingRole, dimensions: int | None
    ) -> ProviderEmbeddings:
        """One vector per text."""
        ...

    async def rerank(self, target: Target, query: str, documents: Sequence[str]) -> ProviderRanking:
        """A score per document."""
        ...

    async def chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Mapping[str, float | int]
    ) -> ProviderCompletion:
        """One whole answer. `options`: `max_tokens`, and `temperature` where it was given."""
        ...

    def stream_chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Mapping[str, float | int]
    ) -> AsyncIterator[ProviderDelta]:
        """The answer in pieces; closing the iterator closes the connection."""
        ...
