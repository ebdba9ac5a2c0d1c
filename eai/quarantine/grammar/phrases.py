"""Detectors made of patterns."""

from collections.abc import Iterator
from dataclasses import dataclass

from eai.quarantine.grammar.pattern import PatternSet
from eai.quarantine.ports import Mark
from eai.quarantine.specimen import Specimen


@dataclass(frozen=True, slots=True)
class PhraseDetector:
    """A `Detector` that finds sentences by their patterns, in every reading of a text."""

    name: str
    version: int
    patterns: PatternSet

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Every place of every pattern; they may overlap."""
        for reading in specimen.readings:
            for pattern, first, last in self.patterns.places(reading.sentences.codes):
                yield Mark(pattern.reason, pattern.severity, *reading.place(first, last))
