"""Counting chunks in memory: what a change adds to a generation's statistics, or takes away."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Sums by rights class. Negative where chunks go; `terms` counts chunks, not occurrences."""

    terms: Counter[tuple[str, int]] = field(default_factory=Counter)
    chunks: Counter[tuple[str, int]] = field(default_factory=Counter)
    tokens: Counter[tuple[str, int]] = field(default_factory=Counter)

    def add(self, language: str, class_number: int, terms: Mapping[str, int]) -> None:
        """Count a chunk in."""
        self._count(language, class_number, terms, 1)

    def remove(self, language: str, class_number: int, terms: Mapping[str, int]) -> None:
        """Count a chunk out; after it was counted in, nothing is left of it."""
        self._count(language, class_number, terms, -1)

    def _count(self, language: str, class_number: int, terms: Mapping[str, int], sign: int) -> None:
        for term in terms:
            self.terms[term, class_number] += sign
        self.chunks[language, class_number] += sign
        self.tokens[language, class_number] += sign * sum(terms.values())
