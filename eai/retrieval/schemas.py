"""A question and its answer as clients write and read them."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field, PlainValidator, StrictBool, WithJsonSchema
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification
from eai.gateway.schemas import Labels, ModelName
from eai.kernel.canonical import nfc
from eai.knowledge.provenance import Position, Provenance
from eai.tenants.schemas import Schema

MAX_QUERY_LENGTH = 8_000
MAX_TOP_K = 100
DEFAULT_TOP_K = 5
LEAST_CANDIDATES = 20
MAX_CONDITIONS = 10
MAX_VALUES = 100
MAX_VALUE_LENGTH = 1_000

Comparable = tuple[str, str | float | bool]
Accepted = frozenset[Comparable]


class Mode(StrEnum):
    """Which legs of the search take part."""

    VECTOR = "vector"
    HYBRID = "hybrid"
    KEYWORD = "keyword"


def comparable(value: object) -> Comparable | None:
    """A form in which JSON scalars are equal when JSON says so: `true` is not 1. None for any other value."""
    match value:
        case bool():
            return "truth", value
        case int() | float():
            return ("number", value) if math.isfinite(value) else None
        case str():
            return "text", nfc(value)
        case _:
            return None


def _askable(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("holds characters that are not text")
    return text


def _accepted(value: Any) -> Accepted:
    values = value if isinstance(value, list) else [value]
    if not 1 <= len(values) <= MAX_VALUES:
        raise PydanticCustomError("values_count", "a list names 1 to {most} values", {"most": MAX_VALUES})
    accepted = [_comparable(each) for each in values]
    return frozenset(accepted)


def _comparable(value: Any) -> Comparable:
    if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
        raise PydanticCustomError(
            "string_too_long", "a value has at most {most} characters", {"most": MAX_VALUE_LENGTH}
        )
    form = comparable(value)
    if form is None:
        raise PydanticCustomError("value_not_scalar", "a value is a string, a number or a boolean")
    return form


_SCALARS = [{"type": "string", "maxLength": MAX_VALUE_LENGTH}, {"type": "number"}, {"type": "boolean"}]
_LIST = {"type": "array", "items": {"anyOf": _SCALARS}, "minItems": 1, "maxItems": MAX_VALUES}
_VALUES: dict[str, Any] = {"anyOf": [*_SCALARS, _LIST]}

Condition = Annotated[Any, PlainValidator(_accepted), WithJsonSchema(_VALUES)]
Conditions = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=200)], Condition], Field(max_length=MAX_CONDITIONS)
]


class Filters(Schema):
    """What a passage's document must say of itself; every key must match, by one of its values."""

    metadata: Conditions = Field(default={})

    def accept(self, metadata: Mapping[str, Any]) -> bool:
        """Whether `metadata` has one of the named values under each key; of a list, one member must match."""
        return all(self._holds(metadata.get(key), accepted) for key, accepted in self.metadata.items())

    @staticmethod
    def _holds(value: Any, accepted: Accepted) -> bool:
        members = value if isinstance(value, list) else (value,)
        return any(comparable(member) in accepted for member in members)


class QueryRequest(Schema):
    """A question to one knowledge base.

    `min_score` is compared with `score`, before any reranking. `filters.metadata` names values that the
    document's metadata must have.
    """

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_LENGTH), AfterValidator(_askable)]
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True)] = DEFAULT_TOP_K
    mode: Mode = Mode.HYBRID
    rerank: StrictBool = False
    rerank_model: ModelName | None = None
    min_score: Annotated[float, Field(ge=0.0, le=1.0, strict=True)] | None = None
    filters: Filters = Filters()
    explain: StrictBool = False
    labels: Labels = Labels()

    @property
    def candidates(self) -> int:
        """How many passages are looked for: a reranking chooses `top_k` among more."""
        return min(MAX_TOP_K, max(4 * self.top_k, LEAST_CANDIDATES)) if self.rerank else self.top_k


class Shortcoming(StrEnum):
    """What an answer lacks, and why."""

    PARTIAL_RESULTS = "partial_results"
    RERANKER_NOT_CONFIGURED = "reranker_not_configured"
    RERANKER_UNAVAILABLE = "reranker_unavailable"
    RERANK_REFUSED = "rerank_refused"
    DLP_REDACTED = "dlp_redacted"


class Explanation(Schema):
    """Why a passage was found: the stems it shares with the question, and the weight of likeness."""

    matched_stems: list[str]
    vector_weight: float


class Result(Schema):
    """A passage that the caller may read. Scores are 0 to 1; null where a leg did not return it."""

    chunk_id: UUID
    document_id: UUID
    title: str
    ordinal: int
    content: str
    score: float
    vector_score: float | None
    keyword_score: float | None
    rerank_score: float | None
    classification: Classification
    provenance: Provenance
    position: Position
    explanation: Annotated[Explanation | None, Field(description="Only with `explain`.")] = None


class QueryAnswerOut(Schema):
    """The passages that answer a question, best first."""

    knowledge_base_id: UUID
    query: str
    results: list[Result]
    count: int
    mode: Mode
    reranked: bool
    warnings: list[Shortcoming]
    embedding_model: str
