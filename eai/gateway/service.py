"""Every call to a model passes here: refused before a byte leaves, or measured after it.

A call is admitted by the controls, reserved where it leaves this process or a quota may bind, made, its
answer checked, and settled on what was measured. Models inside this process open no connection, so their
calls need no intent in the chain beforehand: their event follows with the measured usage.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from uuid import uuid4

import numpy as np

from eai.access.classification import Classification, highest
from eai.dlp.ports import DlpRules
from eai.gateway.answer_screen import ANSWER_REDACTED
from eai.gateway.answers import (
    believed,
    believed_completion,
    check_completion,
    check_ranking,
    check_vectors,
    embedding_matrix,
)
from eai.gateway.calls import (
    Caller,
    ChatCall,
    Completion,
    EmbeddingCall,
    Embeddings,
    ModelCall,
    Operation,
    Ranking,
    RerankCall,
    Usage,
    Vectors,
)
from eai.gateway.chat import ChatStream
from eai.gateway.context import most_tokens
from eai.gateway.controls import Controls, Intent
from eai.gateway.dispatch import Dispatch, Way
from eai.gateway.facts import Facts, facts_from
from eai.gateway.facts_rows import FactsRows
from eai.gateway.ledger import Ledger
from eai.gateway.ports import ChatMessage, Embedder
from eai.gateway.registry import Capability, Model
from eai.kernel.errors import EaiError
from eai.kernel.ids import TenantId
from eai.knowledge.ports import SpaceId
from eai.knowledge.spaces import space_id
from eai.platform import metrics
from eai.platform.telemetry import Attributes, GenAiOperation, model_call, span


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model of this process and what runs it."""

    model: Model
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class PermittedEmbedding:
    """A text that may be embedded, as far as that can be said without anything leaving.

    `text` is what may be sent of it, and `level` what it weighs. Good for at once, and not for later.
    """

    call: EmbeddingCall
    intent: Intent

    @property
    def text(self) -> str:
        return self.intent.texts[0]

    @property
    def level(self) -> Classification:
        return self.intent.level

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.intent.warnings


class Gateway:
    """The models that this installation can reach and the controls before them."""

    def __init__(
        self,
        here: Mapping[str, RegisteredModel],
        rows: FactsRows,
        controls: Controls,
        ledger: Ledger,
        dispatch: Dispatch,
        *,
        default_model: str | None,
        batch_size: int,
    ) -> None:
        self._here = here
        self._models = {name: registered.model for name, registered in here.items()}
        self._rows = rows
        self._controls = controls
        self._ledger = ledger
        self._dispatch = dispatch
        self.batch_size = batch_size
        self.default_model = default_model

    @property
    def models(self) -> tuple[Model, ...]:
        """The models of this process, by name."""
        return tuple(self._models[name] for name in sorted(self._models))

    async def warm_up(self) -> None:
        """Load the model of bases that name none, if there is one. The others load when they are called."""
        registered = self._here.get(self.default_model or "")
        if registered is not None:
            await registered.embedder.warm_up()

    async def facts(self, tenant: TenantId, model: str) -> Facts:
        """What the controls go by, as of now."""
        return self.read(await self._rows.read(tenant, model), model)

    def read(self, row: Mapping[str, object], model: str) -> Facts:
        """The same from a row that another statement brought along."""
        return facts_from(row, model, self._models)

    def batches(self, inputs: int) -> int:
        """In how many calls of the model so many texts are embedded."""
        return -(-inputs // self.batch_size)

    async def check(self, caller: Caller, name: str, operation: Operation, level: Classification) -> Model:
        """Run every control of an embedding that needs no text; raises the first refusal."""
        facts = await self.facts(caller.tenant, name)
        intent = Intent(caller, name, Capability.EMBEDDINGS, operation, level, (), facts)
        return (await self._controls.foresee(intent)).model

    async def embed(self, call: EmbeddingCall, facts: Facts | None = None) -> Embeddings:
        """One vector per text, in order. Raises a refusal, or what is wrong with the answer.

        `facts` spares reading them, for a call of one batch. The evidence of every batch but the last is
        durable already when the next is sent.
        """
        done: list[Embeddings] = []
        warnings: tuple[str, ...] = ()
        searched_by = call.searched_by
        if len(call.inputs) > self.batch_size:
            # What the border of two batches cuts in two is found only where both are looked through: the
            # batches are made of what may leave of the whole, and not searched again by the same rules.
            whole = await self._admitted(call, facts, searched_by)
            call, warnings = replace(call, inputs=whole.texts, level=whole.level), whole.warnings
            searched_by = whole.searched_by
        for start in range(0, len(call.inputs), self.batch_size):
            if done:
                await self._ledger.record(done[-1].evidence)
            inputs = call.inputs[start : start + self.batch_size]
            batch = replace(call, inputs=inputs, batches_done=len(done))
            batch = replace(batch, level=await _level_now(batch, call.level))
            done.append(await self._embed_batch(batch, facts, searched_by))
        metrics.RAG_EMBEDDINGS.labels(operation=call.operation).inc(len(call.inputs))
        return Embeddings(
            np.concatenate([batch.vectors for batch in done]),
            Usage(sum(batch.usage.read_tokens for batch in done)),
            done[-1].evidence,
            tuple(dict.fromkeys([*warnings, *(warning for batch in done for warning in batch.warnings)])),
        )

    async def permit(self, call: EmbeddingCall, facts: Facts) -> PermittedEmbedding:
        """Run every control but egress on the one text of `call`, for whoever may have its vector already.

        Raises the first refusal, which is on record.
        """
        intent = Intent.of(call, facts)
        try:
            return PermittedEmbedding(call, await self._controls.permit(intent))
        except EaiError as error:
            await self._ledger.refuse(intent, error)
            raise

    async def embed_permitted(self, permitted: PermittedEmbedding) -> Embeddings:
        """The vector of a text that was permitted just now: vetted, reserved and called as by `embed`."""
        call, intent = permitted.call, permitted.intent
        try:
            await self._controls.vet_egress(intent)
        except EaiError as error:
            await self._ledger.refuse(intent, error)
            raise
        done = await self._embed_intent(call, intent)
        metrics.RAG_EMBEDDINGS.labels(operation=call.operation).inc()
        return done

    async def rerank(self, call: RerankCall) -> Ranking:
        """Which documents answer the query best. Raises as `embed`."""
        intent = await self._admitted(call, None)
        query, *documents = intent.texts
        async with self._ledger.opened(intent, call, _estimate(intent.texts)) as entry:
            with span(f"rerank {intent.name}", _attributes(GenAiOperation.RERANK, intent, call)):
                answer = await self._dispatch.rerank(
                    intent.model, query, documents, self._unless_refused_by_now(intent)
                )
            entry.measured = _measured(intent.texts, answer.tokens)
            ranked = check_ranking(intent.model, documents, answer)
            return Ranking(ranked, entry.measured, entry.evidence(entry.measured), intent.warnings)

    async def chat(self, call: ChatCall) -> Completion:
        """A whole answer. Raises as `embed`."""
        intent = await self._admitted(call, None)
        async with self._ledger.opened(intent, call, _chat_bound(call, intent)) as entry:
            with span(f"chat {intent.name}", _attributes(GenAiOperation.CHAT, intent, call)):
                answer = await self._dispatch.chat(
                    intent.model, _messages(call, intent), _options(call), self._unless_refused_by_now(intent)
                )
            content, reason, usage = check_completion(
                intent.model, believed_completion(answer, intent.texts, call.max_tokens)
            )
            entry.measured = usage or _estimate([*intent.texts, content])
            screen = replace(self._controls.screen(intent), entities=entry.answer_entities)
            told = await screen.whole(content)
            warnings = (*intent.warnings, *([ANSWER_REDACTED] if screen.is_redacted else []))
            return Completion(told, reason, entry.measured, entry.evidence(entry.measured), uuid4(), warnings)

    @asynccontextmanager
    async def stream_chat(self, call: ChatCall) -> AsyncIterator[ChatStream]:
        """An answer in pieces: admitted, reserved and its intent durable before anything is yielded.

        Leaving the block ends the provider's work, and settles what was produced. Raises as `embed`.
        """
        intent = await self._admitted(call, None)
        async with self._ledger.opened(intent, call, _chat_bound(call, intent)) as entry:
            deltas = self._dispatch.stream_chat(
                intent.model, _messages(call, intent), _options(call), self._unless_refused_by_now(intent)
            )
            with span(f"chat {intent.name}", _attributes(GenAiOperation.CHAT, intent, call)):
                async with aclosing(deltas):
                    stream = ChatStream(entry, deltas, self._controls.screen(intent))
                    yield stream
        # Out of the block: whether it was recorded or not, it is not settled again.
        await self._ledger.record(entry.evidence(stream.usage))

    async def _embed_batch(
        self, call: EmbeddingCall, facts: Facts | None, searched_by: DlpRules | None
    ) -> Embeddings:
        return await self._embed_intent(call, await self._admitted(call, facts, searched_by))

    async def _embed_intent(self, call: EmbeddingCall, intent: Intent) -> Embeddings:
        model = intent.model
        dimensions = call.dimensions or model.dimensions[0]
        async with self._ledger.opened(intent, call, _estimate(intent.texts)) as entry:
            with span(f"embeddings {model.name}", _attributes(GenAiOperation.EMBEDDINGS, intent, call)):
                vectors, tokens = await self._vectors(intent, call, dimensions)
            entry.measured = _measured(intent.texts, tokens)
            check_vectors(model, len(intent.texts), dimensions, vectors)
            return Embeddings(vectors, entry.measured, entry.evidence(entry.measured), intent.warnings)

    async def _vectors(
        self, intent: Intent, call: EmbeddingCall, dimensions: int
    ) -> tuple[Vectors, int | None]:
        model = intent.model
        if model.is_local:
            answer = await self._here[model.name].embedder.embed(intent.texts, call.role)
            return answer.vectors, answer.tokens
        wanted = dimensions if len(model.dimensions) > 1 else None
        found = await self._dispatch.embed(
            model, intent.texts, call.role, wanted, self._unless_refused_by_now(intent)
        )
        return embedding_matrix(model, len(intent.texts), dimensions, found), found.tokens

    async def _admitted(
        self, call: ModelCall, facts: Facts | None, searched_by: DlpRules | None = None
    ) -> Intent:
        known = facts or await self.facts(call.caller.tenant, call.model)
        intent = Intent.of(call, known, searched_by)
        try:
            return await self._controls.admit(intent)
        except EaiError as error:
            await self._ledger.refuse(intent, error)
            raise

    def _unless_refused_by_now(self, intent: Intent) -> Way:
        """The tenant's way, on which the next attempt is stopped by what was flipped or raised meanwhile.

        The first comes right after the reservation, whose own statement has just read the switches.
        """
        attempts = count()

        async def before() -> None:
            if next(attempts) == 0:
                return
            level = await _level_now(intent.call, intent.level)
            now = await self.facts(intent.tenant, intent.name)
            await self._controls.foresee(replace(intent, facts=now, level=level))

        return Way(intent.tenant, before)


async def _level_now(call: ModelCall | None, known: Classification) -> Classification:
    """The level of the call's texts, which may have been raised above the `known` one."""
    if not isinstance(call, EmbeddingCall) or call.before_batch is None:
        return known
    return highest(known, await call.before_batch(call.batches_done))


def space_of(model: Model, dimensions: int | None = None) -> SpaceId:
    """The embedding space of a model; any change of what decides its vectors is another space."""
    return space_id(
        model=model.name,
        provider=model.provider,
        provider_model=model.provider_model,
        revision=model.revision,
        preprocessing=model.preprocessing,
        dimensions=dimensions or model.dimensions[0],
    )


def _estimate(texts: Sequence[str], written: int = 0) -> Usage:
    """Never less than what a provider counts."""
    return Usage(sum(map(most_tokens, texts)), written, is_estimated=True)


def _measured(texts: Sequence[str], tokens: int | None) -> Usage:
    """What the model counted, or the estimate where that cannot be believed."""
    counted = believed(tokens, texts)
    return _estimate(texts) if counted is None else Usage(counted)


def _chat_bound(call: ChatCall, intent: Intent) -> Usage:
    # Each message is wrapped in a few tokens of the provider's own.
    return _estimate([*intent.texts, *("role" * 4 for _ in intent.texts)], call.max_tokens)


def _messages(call: ChatCall, intent: Intent) -> list[ChatMessage]:
    """The conversation as it may leave."""
    return [replace(message, content=text) for message, text in zip(call.messages, intent.texts, strict=True)]


def _options(call: ChatCall) -> dict[str, float | int]:
    options: dict[str, float | int] = {"max_tokens": call.max_tokens}
    if call.temperature is not None:
        options["temperature"] = call.temperature
    return options


def _attributes(operation: GenAiOperation, intent: Intent, call: ModelCall) -> Attributes:
    return model_call(
        operation,
        intent.name,
        intent.model.provider,
        tenant=str(intent.tenant),
        run=call.labels.get("run"),
        agent=call.labels.get("agent"),
    )
