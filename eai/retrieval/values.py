"""The immutable values that travel through the retrieval pipeline, stage by stage."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eai.access.classification import Classification, level_at
from eai.access.subject import PrincipalKind, Subject
from eai.audit.entries import Evidence
from eai.gateway.facts import Facts
from eai.gateway.ports import FusionRule
from eai.gateway.service import PermittedEmbedding
from eai.kernel.ids import BaseId, GenerationId
from eai.kernel.immutable import Immutable
from eai.knowledge.lexical import QueryWeights
from eai.knowledge.ports import SearchFilter, SearchHits, SpaceId, Vector
from eai.retrieval.fusion import ScoredHit
from eai.retrieval.reach import PROMISED, Reach, reaches
from eai.retrieval.rows import PassageRow
from eai.retrieval.schemas import QueryRequest


@dataclass(frozen=True, slots=True)
class SearchedBase(Immutable):
    """The base that a question is put to, and the generation that answers."""

    id: BaseId
    classification: Classification
    embedding_model: str
    space: SpaceId
    generation: GenerationId


@dataclass(frozen=True, slots=True)
class Bounds(Immutable):
    """What tells a cached answer from one that would be another by now, and up to which level any is kept.

    An epoch is another one after every change: `content` of what a question finds in the base, `rights` of
    who may read what there, `tenant_rights` of who is in which group and cleared for what.
    """

    content: str
    rights: str
    tenant_rights: str
    most: Classification | None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Bounds":
        """From what the database answered."""
        return cls(row["content"], row["rights"], row["tenant_rights"], level_at(row["most"]))

    def allow(self, level: Classification) -> bool:
        """Whether what has this level may be kept."""
        return self.most is not None and not level.exceeds(self.most)


@dataclass(frozen=True, slots=True)
class Opening(Immutable):
    """What one statement found out: who asks, what is searched, and within which rights."""

    subject: Subject
    base: SearchedBase
    scope: SearchFilter
    weights: QueryWeights
    facts: Facts
    bounds: Bounds | None = None

    @property
    def is_unfiltered(self) -> bool:
        """Whether the caller's rights are too many for a filter, so that the re-check alone decides."""
        return self.scope.rights_keys is None


@dataclass(frozen=True, slots=True)
class Question(Immutable):
    """What one pass looks for, and how far: `passes` are the reaches still to go, this one first.

    `dense` is the question's vector once it is known, and `permitted` that it may be had. `has_kept_vector`
    says that no model was asked for it, `is_recalled` that the passages were not searched for. `trail` is
    the one part that grows: what was done so far and must be on record however the query ends.
    """

    request: QueryRequest
    opening: Opening
    passes: tuple[Reach, ...]
    dense: Vector | None = None
    permitted: PermittedEmbedding | None = None
    has_kept_vector: bool = False
    is_recalled: bool = False
    trail: list[Evidence] = field(default_factory=list)

    @classmethod
    def of(cls, request: QueryRequest, opening: Opening) -> "Question":
        """The first pass. It reaches further at once where most hits are likely to be dropped."""
        passes = reaches(request.candidates)
        is_narrow = opening.is_unfiltered or bool(request.filters.metadata)
        return cls(request, opening, passes[1:] if is_narrow else passes)

    @property
    def reach(self) -> Reach:
        """How far this pass looks."""
        return self.passes[0]

    @property
    def fusion(self) -> FusionRule:
        """How the base's model joins the keyword leg; only a search that asked the model needs it."""
        model = self.opening.facts.model
        assert model is not None
        return model.fusion

    @property
    def labels(self) -> Mapping[str, str]:
        """The request's labels; an agent's own credential says which agent it is."""
        subject = self.opening.subject
        given = self.request.labels.given()
        return given | {"agent": str(subject.principal)} if subject.kind is PrincipalKind.AGENT else given

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the gateway warned of."""
        return () if self.permitted is None else self.permitted.warnings

    def embedded(self, vector: Vector, permitted: PermittedEmbedding) -> "Question":
        """The same question with its vector."""
        return replace(self, dense=vector, permitted=permitted)

    def reopened(self, opening: Opening) -> "Question":
        """The same question as it would be opened now. Its vector holds within one generation only."""
        if opening.base.generation != self.opening.base.generation:
            return replace(self, opening=opening, dense=None, permitted=None, has_kept_vector=False)
        return replace(self, opening=opening)

    def further(self) -> "Question":
        """The next pass."""
        return replace(self, passes=self.passes[1:])


@dataclass(frozen=True, slots=True)
class Found(Immutable):
    """What the index answered."""

    question: Question
    hits: SearchHits

    @property
    def is_everything(self) -> bool:
        """Whether the index has no further hit in scope: the dense leg leaves none out."""
        leg = self.hits.sparse if self.question.dense is None else self.hits.dense
        return len(leg) < self.question.reach.fetched


@dataclass(frozen=True, slots=True)
class Ranked(Immutable):
    """One list out of the legs, best first."""

    found: Found
    hits: tuple[ScoredHit, ...]


@dataclass(frozen=True, slots=True)
class Passage(Immutable):
    """A hit that the caller may read, with the row that says so and its effective level."""

    hit: ScoredHit
    row: PassageRow
    level: Classification


@dataclass(frozen=True, slots=True)
class Readable(Immutable):
    """The best passages that the caller may read and asked for, all of one instant.

    At most `top_k`, or the candidates of a reranking.

    `readable` counts what the caller may read among the hits that were checked, wanted or not; `is_cut`
    says that one of them was below `min_score`, `has_more` that a longer list may hold more, and
    `is_torn` that a document changed between search and re-check, so that its new text may be missing.
    `bounds` are the cache's, as of that instant or later.
    """

    found: Found
    passages: tuple[Passage, ...]
    readable: int
    is_cut: bool
    has_more: bool
    is_torn: bool
    bounds: Bounds | None = None

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.found.question

    @property
    def is_short(self) -> bool:
        """Whether fewer passages were found than asked for."""
        return len(self.passages) < self.question.request.top_k

    @property
    def wants_further(self) -> bool:
        """Whether another pass may lengthen the answer and there is one left."""
        return self.is_short and self.has_more and len(self.question.passes) > 1

    @property
    def is_partial(self) -> bool:
        """Whether the caller is warned that there may be more; the rule is in `reach`."""
        if not self.is_short:
            return False
        return self.question.opening.is_unfiltered or (self.readable >= PROMISED and not self.is_cut)


@dataclass(frozen=True, slots=True)
class Cited(Immutable):
    """The results as they are sent, beside what they were made of."""

    readable: Readable
    results: tuple[dict[str, Any], ...]
