"""Fills a budget with passages, in the order in which they were named. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from eai.access.classification import Classification, highest
from eai.assembly.delimiting import delimiter, fresh_nonce
from eai.assembly.schemas import (
    AssembleRequest,
    BudgetOut,
    ContextContract,
    LeftOut,
    LeftOutReason,
    Segment,
    Source,
)
from eai.gateway.context import most_tokens
from eai.kernel.ids import BaseId, GenerationId
from eai.knowledge.provenance import Position, Provenance
from eai.retrieval.rows import PassageRow


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage that the caller may read, as its rows were at the instant of the re-check."""

    base: BaseId
    generation: GenerationId
    row: PassageRow
    level: Classification


@dataclass(frozen=True, slots=True)
class Composed:
    """A context, and the passages that are in it."""

    context: ContextContract
    passages: tuple[Shown, ...]


@dataclass(slots=True)
class _Filling:
    """What is in so far, and what it takes."""

    most_characters: int | None
    most_tokens: int | None
    nonce: str
    passages: list[Shown] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    characters: int = 0
    tokens: int = 0

    def take(self, place: int, shown: Shown | None) -> None:
        """Put a passage in, or note why not. One that does not fit keeps no later, shorter one out."""
        reason = self._reason(shown)
        if reason is not None:
            self.left_out.append(LeftOut(passage=place, reason=reason))

    def _reason(self, shown: Shown | None) -> LeftOutReason | None:
        if shown is None:
            return LeftOutReason.UNAVAILABLE
        if any(shown.row.chunk == each.row.chunk for each in self.passages):
            return LeftOutReason.REPEATED
        segment = _segment(shown, self.nonce, len(self.segments) + 1)
        characters = self.characters + len(_text(segment))
        tokens = self.tokens + segment.tokens
        if _exceeds(characters, self.most_characters) or _exceeds(tokens, self.most_tokens):
            return LeftOutReason.BUDGET
        self.characters, self.tokens = characters, tokens
        self.segments.append(segment)
        self.passages.append(shown)
        return None


def compose(asked: AssembleRequest, found: Sequence[Shown | None]) -> Composed:
    """The context of `asked`; `found` has for each of its passages what the caller may read of it."""
    nonce = fresh_nonce(shown.row.content for shown in found if shown is not None)
    filling = _Filling(asked.most_characters, asked.max_tokens, nonce)
    for place, shown in enumerate(found):
        filling.take(place, shown)
    context = ContextContract(
        text="".join(map(_text, filling.segments)),
        segments=filling.segments,
        classification=highest(Classification.PUBLIC, *(each.classification for each in filling.segments)),
        characters=filling.characters,
        tokens=filling.tokens,
        budget=BudgetOut(max_characters=asked.most_characters, max_tokens=asked.max_tokens),
        left_out=filling.left_out,
    )
    return Composed(context, tuple(filling.passages))


def _segment(shown: Shown, nonce: str, number: int) -> Segment:
    row, around = shown.row, delimiter(nonce, number)
    return Segment(
        source=Source(
            knowledge_base_id=shown.base,
            document_id=UUID(row.document),
            chunk_id=UUID(row.chunk),
            title=row.title,
            ordinal=row.ordinal,
            position=Position(start=row.start, end=row.end),
        ),
        provenance=Provenance(
            source_type="rag",
            source_id=UUID(row.document),
            version=str(row.version),
            classification=shown.level,
            source_uri=row.source_uri,
            source_uri_verified=row.source_uri_verified,
            source_connector=row.source_connector,
        ),
        content=row.content,
        classification=shown.level,
        tokens=sum(map(most_tokens, (around.open, row.content, around.close))),
        delimiter=around,
    )


def _text(segment: Segment) -> str:
    return f"{segment.delimiter.open}{segment.content}{segment.delimiter.close}"


def _exceeds(used: int, most: int | None) -> bool:
    return most is not None and used > most
