"""What goes into a context, and the context, as clients write and read them."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification
from eai.knowledge.provenance import Position, Provenance
from eai.tenants.schemas import Schema

MAX_PASSAGES = 200
MAX_BASES = 10
LARGEST_BUDGET = 1_000_000
DEFAULT_CHARACTERS = 20_000


class PassageReference(Schema):
    """A passage as a result of a question names it; the base by its id or its alias."""

    knowledge_base_id: Annotated[str, Field(min_length=1, max_length=300)]
    chunk_id: UUID


def _few_bases(passages: list[PassageReference]) -> list[PassageReference]:
    if len({each.knowledge_base_id for each in passages}) > MAX_BASES:
        raise PydanticCustomError("bases_count", "at most {max_length} bases", {"max_length": MAX_BASES})
    return passages


Passages = Annotated[
    list[PassageReference], Field(min_length=1, max_length=MAX_PASSAGES), AfterValidator(_few_bases)
]
Budget = Annotated[int, Field(ge=1, le=LARGEST_BUDGET, strict=True)]


class AssembleRequest(Schema):
    """The passages that a model is to be given, the most important first, and how much it may be in all.

    Passages are results of questions, of one answer or of several. Without a budget, 20,000 characters.
    """

    passages: Passages
    max_characters: Budget | None = None
    max_tokens: Budget | None = None

    @property
    def most_characters(self) -> int | None:
        """The budget in characters, where there is one."""
        if self.max_characters is None and self.max_tokens is None:
            return DEFAULT_CHARACTERS
        return self.max_characters


class Delimiter(Schema):
    """What stands before and behind a passage in the text. Nobody who wrote the passage could know it."""

    open: str
    close: str


class Source(Schema):
    """Which passage it is, and how its document is called."""

    knowledge_base_id: UUID
    document_id: UUID
    chunk_id: UUID
    title: str
    ordinal: int
    position: Position


class Segment(Schema):
    """A passage that the caller may read, as it was when the context was made.

    `tokens` is the most that any model makes of it, its delimiter included: one for each byte of UTF-8.
    """

    source: Source
    provenance: Provenance
    content: str
    classification: Classification
    tokens: int
    delimiter: Delimiter


class LeftOutReason(StrEnum):
    """Why a passage is not in the context.

    `unavailable`: there is none of this id that you may read, any more or at all. `budget`: there was no
    room left for it. `repeated`: it was named before.
    """

    UNAVAILABLE = "unavailable"
    BUDGET = "budget"
    REPEATED = "repeated"


class LeftOut(Schema):
    """A passage that is not in the context: its place in the request, counted from 0, and why."""

    passage: int
    reason: LeftOutReason


class BudgetOut(Schema):
    """How much the text could be; null is no limit of its kind."""

    max_characters: int | None
    max_tokens: int | None


class ContextContract(Schema):
    """Passages put together for a model.

    `text` is what to give it: of each segment in turn what opens it, its content, and what closes it.
    `characters` and `tokens` are those of `text`, `classification` is the highest of the segments'
    (`public` where there are none).
    """

    text: str
    segments: list[Segment]
    classification: Classification
    characters: int
    tokens: int
    budget: BudgetOut
    left_out: list[LeftOut]
