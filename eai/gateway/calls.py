"""What a caller asks of a model, and what it is given; the same values in-process and over HTTP."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.access.subject import Subject
from eai.audit.entries import Actor, Evidence
from eai.dlp.ports import DlpRules
from eai.gateway.ports import ChatMessage, EmbeddingRole
from eai.gateway.registry import Capability
from eai.kernel.ids import BaseId, GroupId, TenantId

Vectors = NDArray[np.float32]


class Operation(StrEnum):
    """What a model is called for, as usage and metrics tell it apart."""

    INGEST = "ingest"
    QUERY = "query"
    REINDEX = "reindex"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a model is called: who is charged, and what policies may look at."""

    tenant: TenantId
    actor: Actor
    groups: frozenset[GroupId] = frozenset()
    roles: tuple[Role, ...] = ()
    clearance: Classification = Classification.PUBLIC

    @classmethod
    def of(cls, subject: Subject) -> "Caller":
        """The subject of a request."""
        return cls(subject.tenant, Actor.of(subject), subject.groups, subject.roles, subject.clearance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """What every call has in common; `level` is the highest classification among its texts.

    `base` is the knowledge base whose quota binds, where there is one. `labels` end in usage and audit.
    """

    caller: Caller
    model: str
    operation: Operation
    level: Classification
    base: BaseId | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def capability(self) -> Capability:
        raise NotImplementedError

    @property
    def texts(self) -> Sequence[str]:
        """Everything that would leave, in one order."""
        raise NotImplementedError

    @property
    def reads(self) -> Iterable[Sequence[str]]:
        """The same, each time what the model must hold in its context at once."""
        raise NotImplementedError

    @property
    def most_written(self) -> int:
        """The tokens that the model may write into the same context."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingCall(ModelCall):
    """Texts to embed. `dimensions` where the model offers a choice; absent: its default.

    `before_batch` is awaited, with how many batches are done, each time before the model is asked; what it
    raises ends the embedding. It tells the level of all texts as of then: as such the rest is sent.
    `searched_by` are the rules by which the whole that these texts were cut from was looked through already.
    """

    inputs: Sequence[str]
    role: EmbeddingRole
    dimensions: int | None = None
    before_batch: Callable[[int], Awaitable[Classification]] | None = None
    batches_done: int = 0
    searched_by: DlpRules | None = None

    @property
    def capability(self) -> Capability:
        return Capability.EMBEDDINGS

    @property
    def texts(self) -> Sequence[str]:
        return self.inputs

    @property
    def reads(self) -> Iterable[Sequence[str]]:
        return ((text,) for text in self.inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankCall(ModelCall):
    """Documents to be put in the order in which they answer `query`."""

    query: str
    documents: Sequence[str]

    @property
    def capability(self) -> Capability:
        return Capability.RERANK

    @property
    def texts(self) -> Sequence[str]:
        return (self.query, *self.documents)

    @property
    def reads(self) -> Iterable[Sequence[str]]:
        return ((self.query, document) for document in self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall(ModelCall):
    """A conversation to be continued by at most `max_tokens` tokens."""

    messages: Sequence[ChatMessage]
    max_tokens: int
    temperature: float | None = None

    @property
    def capability(self) -> Capability:
        return Capability.CHAT

    @property
    def texts(self) -> Sequence[str]:
        return tuple(message.content for message in self.messages)

    @property
    def reads(self) -> Iterable[Sequence[str]]:
        return (self.texts,)

    @property
    def most_written(self) -> int:
        return self.max_tokens


@dataclass(frozen=True, slots=True)
class Usage:
    """What was measured or, where `is_estimated`, charged at its bound."""

    read_tokens: int
    written_tokens: int = 0
    is_estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.read_tokens + self.written_tokens


@dataclass(frozen=True, slots=True)
class Embeddings:
    """`vectors` is float32 of shape (texts, dimensions); `evidence` must be flushed before it is used."""

    vectors: Vectors
    usage: Usage
    evidence: Evidence
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Index and score (0 to 1) of each document that the model ranked, the best first."""

    ranked: tuple[tuple[int, float], ...]
    usage: Usage
    evidence: Evidence
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer."""

    content: str
    finish_reason: str
    usage: Usage
    evidence: Evidence
    id: UUID
    warnings: tuple[str, ...] = ()
