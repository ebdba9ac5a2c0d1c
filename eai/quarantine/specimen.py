"""The document under examination, and the views of it that several detectors share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from eai.kernel.respelled import Respelled
from eai.quarantine.folding import fold
from eai.quarantine.grammar.pattern import Sentences
from eai.quarantine.invisibles import is_invisible


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a text: folded, and as sentences."""

    folded: Respelled
    sentences: Sentences

    @classmethod
    def of(cls, folded: Respelled) -> "Reading":
        """The sentences of what was folded."""
        return cls(folded, Sentences(folded.text))

    def place(self, first: int, last: int) -> tuple[int, int]:
        """Where in the given text the words from number `first` to before number `last` stand."""
        return self.folded.origin(*self.sentences.place(first, last))


@dataclass(frozen=True, slots=True)
class Former:
    """The text whose place another one takes, and whether a steward has let it pass.

    `instead` is that other one, as long as it is, with a sign that is part of no word wherever the former
    text would not have kept the words either.
    """

    text: str
    instead: str
    is_approved: bool


@dataclass(frozen=True)
class Specimen:
    """`text` as extraction gave it, and the decoded `source` of type `content_type` that it came from.

    The source must be one that extraction has accepted: how deep it nests is checked there. `beside` is what
    is shown with the text, by the name of its place; `former` what the text takes the place of, if anything.
    """

    text: str
    source: str
    content_type: str = "text/plain"
    beside: Mapping[str, str] = field(default_factory=dict)
    former: Former | None = None

    @classmethod
    def plain(cls, text: str) -> "Specimen":
        """A text that is its own source."""
        return cls(text, text)

    def whole(self, place: str) -> str:
        """All of the place of this name, which offsets there count in."""
        return {"text": self.text, "source": self.source, **self.beside}.get(place, "")

    @cached_property
    def has_unseen(self) -> bool:
        """Whether any character of the text is invisible; most texts have none, and need no closer look."""
        return any(map(is_invisible, set(self.text)))

    @cached_property
    def readings(self) -> Sequence[Reading]:
        """The text without what is invisible in it; where it makes a difference, also with spaces there."""
        joined = Reading.of(fold(self.text))
        if self.text.isascii() or not self.has_unseen:
            return [joined]
        return [joined, Reading.of(fold(self.text, unseen=" "))]
