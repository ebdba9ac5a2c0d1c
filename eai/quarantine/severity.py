"""How grave a finding is."""

from enum import StrEnum


class Severity(StrEnum):
    """`low` < `medium` < `high` < `critical`: how sure it is that nobody means well.

    `low` is worth a look when something else is found, `medium` is unusual, `high` has no honest use in a
    document, and `critical` is both hidden and addressed to a model.
    """

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for `low` up to 3 for `critical`."""
        return _RANKS[self]

    def reaches(self, threshold: "Severity") -> bool:
        """Whether this is at least `threshold`."""
        return self.rank >= threshold.rank


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
