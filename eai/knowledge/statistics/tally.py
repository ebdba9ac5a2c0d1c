"""Counting chunks in memory: what a change adds to a generation's statistics, or takes away."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Sums by rights class, negative where chunks go.

    `terms` counts the chunks that hold a term, not its occurrences; `chunks` and `tokens` are by class
    and language.
    """

    terms: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    chunks: Counter[tuple[int, str]] = field(default_factory=Counter)
    tokens: Counter[tuple[int, str]] = field(default_factory=Counter)

    @property
    def takes_away(self) -> bool:
        """Whether some sum is negative."""
        if any(count < 0 for count in self.chunks.values()):
            return True
        return any(count < 0 for counts in self.terms.values() for count in counts.values())

    def add(self, language: str, class_number: int, terms: Mapping[str, int]) -> None:
        """Count a chunk in."""
        self.terms[class_number].update(terms.keys())
        self.chunks[class_number, language] += 1
        self.tokens[class_number, language] += sum(terms.values())

    def include(self, other: "Tally") -> None:
        """Add another tally's sums to these."""
        for class_number, counts in other.terms.items():
            mine = self.terms[class_number]
            for term, count in counts.items():
                mine[term] += count
        for sums, more in ((self.chunks, other.chunks), (self.tokens, other.tokens)):
            for key, count in more.items():
                sums[key] += count

    def remove(self, language: str, class_number: int, terms: Mapping[str, int]) -> None:
        """Count a chunk out; after it was counted in, nothing is left of it."""
        self.terms[class_number].subtract(terms.keys())
        self.chunks[class_number, language] -= 1
        self.tokens[class_number, language] -= sum(terms.values())
