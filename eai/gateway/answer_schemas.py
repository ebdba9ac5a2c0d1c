"""Answers of models as they are written: close to what the providers' own clients read.

Vectors are written as they lie in memory, so these values describe the answers and do not make them.
"""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from eai.tenants.schemas import Schema

Warnings = Annotated[
    list[str],
    Field(
        description="`dlp_redacted`: something in the texts was replaced before they left. "
        "`dlp_answer_redacted`: something in the answer was, before it was told."
    ),
]


class TokensOut(Schema):
    """What a call took, as the model counted it or, where it did not, at most."""

    prompt_tokens: int
    completion_tokens: int = 0
    total_tokens: int


class VectorOut(Schema):
    """The vector of text number `index`: numbers, or with `encoding_format` base64 their bytes."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingsOut(Schema):
    """One vector per text, in order."""

    object: Literal["list"]
    data: list[VectorOut]
    model: str
    usage: TokensOut
    warnings: Warnings = Field(default=[])


class RankedOut(Schema):
    """A document by its place in the request; `relevance_score` is 0 to 1."""

    index: int
    relevance_score: float
    document: str | None = None


class RankingOut(Schema):
    """The documents that the model ranked, best first."""

    id: UUID
    model: str
    results: list[RankedOut]
    usage: TokensOut
    warnings: Warnings = Field(default=[])


class SaidOut(Schema):
    """What the model said."""

    role: Literal["assistant"]
    content: str


class ChoiceOut(Schema):
    """The one answer."""

    index: Literal[0]
    message: SaidOut
    finish_reason: str


class CompletionOut(Schema):
    """A whole answer. `created` is in seconds since 1970."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChoiceOut]
    usage: TokensOut
    warnings: Warnings = Field(default=[])


class ListedModelOut(Schema):
    """A model that can be called, as OpenAI's clients read it."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelListOut(Schema):
    """Every model that can be called here."""

    object: Literal["list"] = "list"
    data: list[ListedModelOut]
