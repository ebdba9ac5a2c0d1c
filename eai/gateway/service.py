"""Every call to a model passes here: refused before a byte leaves, or measured after it.

The controls of a call run in one order, each with its own error. Local models open no connection, so
their calls need no intent in the chain beforehand: the event follows with the measured usage.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource, UsageRow
from eai.gateway.errors import (
    EmbeddingDimensionMismatch,
    ModelNotAllowed,
    ModelNotFound,
    ProviderResponseInvalid,
)
from eai.gateway.ports import Embedder, EmbeddingModel, EmbeddingRole
from eai.kernel.errors import InvalidInput
from eai.kernel.ids import TenantId
from eai.knowledge.errors import ClassificationExceeded
from eai.knowledge.ports import ModelFacts, SpaceId
from eai.knowledge.spaces import space_id
from eai.platform import metrics
from eai.platform.telemetry import Attributes, GenAiOperation, model_call, span

Vectors = NDArray[np.float32]


class Operation(StrEnum):
    """What a model is called for, as usage and metrics tell it apart."""

    INGEST = "ingest"
    QUERY = "query"
    REINDEX = "reindex"


@dataclass(frozen=True, slots=True)
class EmbeddingCall:
    """Texts to embed on behalf of `actor`; `level` is the highest classification among them.

    `before_batch` is awaited before each call of the model; what it raises ends the embedding.
    """

    tenant: TenantId
    actor: Actor
    model: str
    texts: Sequence[str]
    role: EmbeddingRole
    operation: Operation
    level: Classification
    labels: Mapping[str, str] = field(default_factory=dict)
    before_batch: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Embeddings:
    """`vectors` is float32 of shape (texts, dimensions); `evidence` must be flushed before it is used."""

    vectors: Vectors
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model and what runs it."""

    model: EmbeddingModel
    embedder: Embedder


class Gateway:
    """The models of this installation and the controls before them."""

    def __init__(
        self,
        models: Mapping[str, RegisteredModel],
        *,
        default_model: str | None,
        batch_size: int,
        is_production: bool,
    ) -> None:
        self._models = models
        self._default_model = default_model
        self._batch_size = batch_size
        self._is_production = is_production

    @property
    def models(self) -> tuple[EmbeddingModel, ...]:
        """Every registered model, by name."""
        return tuple(self._models[name].model for name in sorted(self._models))

    def model(self, name: str) -> EmbeddingModel:
        """The model of this name. Raises ModelNotFound."""
        return self._registered(name).model

    def check(self, name: str, level: Classification) -> EmbeddingModel:
        """Run every control of a call without making it; raises the first refusal."""
        model = self._registered(name).model
        for control in (self._allowed_here, _within_ceiling):
            control(model, level)
        return model

    async def warm_up(self) -> None:
        """Load the model of bases that name none, if there is one. The others load when they are called."""
        registered = self._models.get(self._default_model or "")
        if registered is not None:
            await registered.embedder.warm_up()

    async def embed(self, call: EmbeddingCall) -> Embeddings:
        """One vector per text, in order. Raises a refusal, or what is wrong with the answer."""
        model = self.check(call.model, call.level)
        embedder = self._registered(call.model).embedder
        batches = []
        tokens = 0
        for start in range(0, len(call.texts), self._batch_size):
            if call.before_batch is not None:
                await call.before_batch()
            texts = call.texts[start : start + self._batch_size]
            with span(f"embeddings {model.name}", _attributes(call, model)):
                answer = await embedder.embed(texts, call.role)
            _check_answer(model, texts, answer.vectors)
            batches.append(answer.vectors)
            tokens += answer.tokens
        metrics.RAG_EMBEDDINGS.labels(operation=call.operation).inc(len(call.texts))
        return Embeddings(np.concatenate(batches), _evidence(call, model, tokens))

    async def resolve(
        self, session: AsyncSession, subject: Subject, name: str | None, dimensions: int | None
    ) -> ModelFacts | None:
        """The facts a knowledge base keeps of its model; see `knowledge.ports.ModelCatalogue`."""
        del session, subject  # shipped models serve every tenant
        chosen = name or self._default_model
        if chosen is None:
            raise InvalidInput.field("embedding_model", "missing", "is required in production")
        registered = self._models.get(chosen)
        if registered is None:
            return None
        model = registered.model
        self._allowed_here(model, Classification.PUBLIC)
        if dimensions not in (None, model.dimensions):
            raise InvalidInput.field(
                "dimensions", "unsupported", f"this model has {model.dimensions} dimensions"
            )
        return ModelFacts(model.name, space_of(model), model.classification_ceiling)

    def _registered(self, name: str) -> RegisteredModel:
        registered = self._models.get(name)
        if registered is None:
            raise ModelNotFound(model=name)
        return registered

    def _allowed_here(self, model: EmbeddingModel, level: Classification) -> None:
        del level
        if self._is_production and not model.allowed_in_production:
            raise ModelNotAllowed(model=model.name)


def space_of(model: EmbeddingModel) -> SpaceId:
    """The embedding space of a model; any change of what decides its vectors is another space."""
    return space_id(
        model=model.name,
        provider=model.provider,
        provider_model=model.provider_model,
        revision=model.revision,
        preprocessing=model.preprocessing,
        dimensions=model.dimensions,
    )


def _within_ceiling(model: EmbeddingModel, level: Classification) -> None:
    if level.exceeds(model.classification_ceiling):
        raise ClassificationExceeded(
            model=model.name, classification=level, ceiling=model.classification_ceiling
        )


def _check_answer(model: EmbeddingModel, texts: Sequence[str], vectors: Vectors) -> None:
    if len(vectors) != len(texts):
        raise ProviderResponseInvalid(model=model.name)
    if vectors.shape[1] != model.dimensions:
        raise EmbeddingDimensionMismatch(
            model=model.name, expected=model.dimensions, received=int(vectors.shape[1])
        )
    if not (np.isfinite(vectors).all() and np.any(vectors, axis=1).all()):
        raise ProviderResponseInvalid(model=model.name)


def _attributes(call: EmbeddingCall, model: EmbeddingModel) -> Attributes:
    return model_call(
        GenAiOperation.EMBEDDINGS,
        model.name,
        model.provider,
        tenant=str(call.tenant),
        run=call.labels.get("run"),
        agent=call.labels.get("agent"),
    )


def _evidence(call: EmbeddingCall, model: EmbeddingModel, tokens: int) -> Evidence:
    entry = AuditEntry(
        call.tenant,
        AuditAction.MODEL_INVOKE,
        actor=call.actor,
        resource=Resource("model", model.name),
        facts={
            "operation": str(call.operation),
            "level": str(call.level),
            "texts": len(call.texts),
            "tokens": tokens,
        },
    )
    usage = UsageRow(
        call.tenant,
        kind="embeddings",
        unit="tokens",
        quantity=tokens,
        provider=model.provider,
        region=model.region,
        model=model.name,
        tokens=tokens,
        principal=call.actor.principal,
        api_key=call.actor.api_key,
        labels={**call.labels, "operation": str(call.operation)},
    )
    return Evidence(entries=(entry,), usage=(usage,))
