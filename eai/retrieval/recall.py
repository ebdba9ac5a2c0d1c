"""What a question need not be told twice: its vector, and which passages it found.

Passages are kept as ids and scores, never as text: what is recalled is read and judged anew by the same
re-check that a search ends with. Only those are kept that the same caller was shown, under a key that is
another one after any change of content or rights. A hit asks the gateway everything but what concerns the
way out and the cost, because nothing leaves and nothing is spent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from uuid import UUID

import numpy as np
import ormsgpack

from eai.access.classification import Classification, highest
from eai.access.visibility import may_read
from eai.cache.entry import EntryKey, Kind, Part
from eai.cache.service import SensitiveCache
from eai.gateway.service import Gateway
from eai.kernel.ids import PointId, TenantId
from eai.knowledge.ports import SearchHits
from eai.retrieval.components import cited, permit
from eai.retrieval.fusion import ScoredHit
from eai.retrieval.recheck import Rule, readable_passages
from eai.retrieval.repository import QueryRows
from eai.retrieval.schemas import Mode
from eai.retrieval.values import Bounds, Cited, Found, Question, Ranked, Readable


@dataclass(frozen=True, slots=True)
class Recalled:
    """What is known of a question before anything is searched: an answer, or at least its vector."""

    question: Question
    cited: Cited | None = None


class Recall:
    """One per process."""

    def __init__(
        self, cache: SensitiveCache, gateway: Gateway, rows: QueryRows, rule: Rule = may_read
    ) -> None:
        self._cache = cache
        self._gateway = gateway
        self._rows = rows
        self._rule = rule

    async def recall(self, question: Question) -> Recalled:
        """Permit the question, and look up what was kept of the same one.

        Raises what refuses it, and what the re-check of a search raises.
        """
        if question.request.mode is not Mode.KEYWORD:
            question = replace(question, permitted=await permit(self._gateway, question))
        bounds = question.opening.bounds
        if bounds is None or not bounds.allow(_level(question)):
            return Recalled(question)
        found = await self._results(question, bounds)
        return Recalled(question, found) if found else Recalled(await self._with_vector(question, bounds))

    async def keep(self, cited: Cited) -> None:
        """Keep what a search brought, unless something has changed while it ran. Never raises.

        To be called once the answer is on record: what was not recorded is not told again.
        """
        readable = cited.readable
        question, bounds = readable.question, readable.question.opening.bounds
        if question.is_recalled or readable.is_torn or bounds is None or bounds != readable.bounds:
            return
        if bounds.allow(_level(question)) and question.dense is not None and not question.has_kept_vector:
            await self._cache.put(_tenant(question), _vector_key(question, bounds), question.dense.tobytes())
        if bounds.allow(_level(question, readable)):
            await self._cache.put(_tenant(question), _results_key(question, bounds), _packed(readable))

    async def _results(self, question: Question, bounds: Bounds) -> Cited | None:
        key = _results_key(question, bounds)
        packed = await self._cache.get(_tenant(question), key)
        if packed is None:
            return None
        recalled = await self._rechecked(replace(question, is_recalled=True), packed)
        if recalled is None or recalled.bounds != bounds or not bounds.allow(_level(question, recalled)):
            await self._cache.stale(_tenant(question), key)
            return None
        self._cache.hit(Kind.RESULTS)
        return cited(recalled)

    async def _rechecked(self, question: Question, packed: bytes) -> Readable | None:
        """The passages as they are now; None unless every one of them may still be shown."""
        readable, is_cut, kept = ormsgpack.unpackb(packed)
        hits = tuple([ScoredHit(PointId(UUID(bytes=point)), *scores) for point, *scores in kept])
        snapshot = await self._rows.recheck(
            question.opening.subject,
            question.opening.base,
            [hit.id for hit in hits],
            wants_metadata=bool(question.request.filters.metadata),
        )
        ranked = Ranked(Found(question, SearchHits()), hits)
        now = readable_passages(ranked, snapshot, self._rule, len(hits))
        if now.is_torn or len(now.passages) != len(hits):
            return None
        return replace(now, readable=readable, is_cut=is_cut, has_more=False)

    async def _with_vector(self, question: Question, bounds: Bounds) -> Question:
        if question.permitted is None:
            return question
        kept = await self._cache.get(_tenant(question), _vector_key(question, bounds))
        if kept is None:
            return question
        self._cache.hit(Kind.EMBEDDING)
        dense = np.frombuffer(kept, dtype=np.float32)
        return replace(question, dense=dense, has_kept_vector=True)


def _level(question: Question, readable: Readable | None = None) -> Classification:
    """The level of a question, and of what it found."""
    own = question.permitted.level if question.permitted else question.opening.base.classification
    return highest(own, *(passage.level for passage in readable.passages)) if readable else own


def _vector_key(question: Question, bounds: Bounds) -> EntryKey:
    """A vector says nothing of the base's content, so its key holds no epoch of that."""
    return EntryKey(Kind.EMBEDDING, (*_asker(question, bounds), _text(question)))


def _results_key(question: Question, bounds: Bounds) -> EntryKey:
    """All that decides which passages are found: by rows also what the epochs should have told already."""
    opening, request = question.opening, question.request
    return EntryKey(
        Kind.RESULTS,
        (
            *_asker(question, bounds),
            bounds.content,
            request.query,
            _text(question),
            request.mode.value,
            request.candidates,
            request.min_score,
            _conditions(question),
            _scope(question),
            opening.weights.attainable,
            opening.weights.vector.indices.tobytes(),
            opening.weights.vector.values.tobytes(),
            *_fusion(question),
        ),
    )


def _asker(question: Question, bounds: Bounds) -> tuple[Part, ...]:
    """Who asks what of which vectors, and by which rights."""
    subject, base = question.opening.subject, question.opening.base
    return (
        subject.tenant.bytes,
        subject.principal.bytes,
        sorted(subject.references),
        subject.clearance.rank,
        base.id.bytes,
        base.classification.rank,
        base.generation.bytes,
        base.embedding_model,
        base.space.name,
        base.space.dimensions,
        bounds.rights,
        bounds.tenant_rights,
    )


def _text(question: Question) -> str | None:
    """What the model is asked, which the tenant's rules may have redacted."""
    return question.permitted.text if question.permitted else None


def _conditions(question: Question) -> Sequence[Part]:
    conditions = question.request.filters.metadata
    # A set has no order of its own, its values may be of different types, and a number of any size.
    return [(name, sorted(map(repr, accepted))) for name, accepted in sorted(conditions.items())]


def _scope(question: Question) -> bytes | None:
    keys = question.opening.scope.rights_keys
    # They come in the order in which a plan happens to read them, and plans change with statistics.
    return None if keys is None else sha256("\n".join(sorted(keys)).encode()).digest()


def _fusion(question: Question) -> tuple[Part, ...]:
    if question.request.mode is not Mode.HYBRID:
        return ()
    return question.fusion.dense_weight, question.fusion.dense_floor


def _packed(readable: Readable) -> bytes:
    """What was shown, as ids and scores, and what was told of the rest."""
    hits = [passage.hit for passage in readable.passages]
    kept = [(hit.id.bytes, hit.score, hit.vector_score, hit.keyword_score) for hit in hits]
    return ormsgpack.packb((readable.readable, readable.is_cut, kept))


def _tenant(question: Question) -> TenantId:
    return question.opening.subject.tenant
