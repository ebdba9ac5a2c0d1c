"""What is found in a document, and the port of whatever finds it.

Detectors of this slice are pure: they see one extracted text, what it was extracted from and whose place it
takes, or how near its passages are to those of its base, and call nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from eai.quarantine.neighbourhood import Neighbourhood
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Former, Specimen

__all__ = [
    "MOST_FINDINGS",
    "Detector",
    "Finding",
    "Former",
    "Mark",
    "Named",
    "Neighbourhood",
    "PassageDetector",
    "Place",
    "Reason",
    "Severity",
    "Specimen",
]

MOST_FINDINGS = 1_000
"""Nobody reads more of one document, and everybody pays for them."""


class Place(StrEnum):
    """What a span counts the characters of."""

    TEXT = "text"
    """The extracted text: what is split, embedded, cited and shown."""
    SOURCE = "source"
    """The decoded source, where extraction leaves the part out: comments, attributes, unseen elements."""
    TITLE = "title"
    EXTERNAL_ID = "external_id"
    """What its source calls the document, often the name of a file."""
    SOURCE_URI = "source_uri"
    METADATA = "metadata"
    """The values of the metadata, a line each, and then their names."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a detector saw: `[start, end)` of `place`, and what it says to a model where that is not plain.

    `against` tells what it was compared with, where that is another text: the same words instead of something
    else are another finding.
    """

    reason: Reason
    severity: Severity
    start: int
    end: int
    place: Place = Place.TEXT
    meaning: str | None = None
    against: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A mark with everything that a steward, an audit entry and a release need of it.

    `excerpt` is the beginning of the span with whatever is invisible in it made visible. `fingerprint` is
    the same whenever the same words are found for the same reason, against the same, wherever they stand;
    the second time they occur in a text it is another one. It leaves out version and severity: what a
    release covers is compared with these as well.
    """

    detector: str
    version: int
    reason: Reason
    severity: Severity
    start: int
    end: int
    place: Place
    excerpt: str
    meaning: str | None
    fingerprint: str


class Named(Protocol):
    """What a finding keeps of whoever found it.

    `version` counts up with every change of what it finds, so that a release can tell which one it was given
    against.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...


class Detector(Named, Protocol):
    """Finds one kind of thing that does not belong in a document.

    Pure and synchronous, in time that grows with the text and no faster.
    """

    def marks(self, specimen: Specimen) -> Iterable[Mark]:
        """Everything found, in any order; marks may overlap."""
        ...


class PassageDetector(Named, Protocol):
    """Finds passages that are to those of their base as none of these is to the others. Pure, synchronous."""

    def marks(self, neighbourhood: Neighbourhood) -> Iterable[Mark]:
        """The passages found, whole."""
        ...
