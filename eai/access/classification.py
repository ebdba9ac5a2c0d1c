"""The five levels of secrecy, lowest first. Clearances are levels too."""

from enum import StrEnum


class Classification(StrEnum):
    """`public` < `internal` < `confidential` < `restricted` < `secret`."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"
    SECRET = "secret"  # noqa: S105 - a level, no password

    @property
    def rank(self) -> int:
        """0 for `public` up to 4 for `secret`; what the database stores and compares."""
        return _RANKS[self]

    def exceeds(self, ceiling: "Classification") -> bool:
        """Whether this level is above `ceiling`."""
        return self.rank > ceiling.rank


LEVELS = tuple(Classification)
_RANKS = {level: rank for rank, level in enumerate(LEVELS)}


def highest(first: Classification, *others: Classification | None) -> Classification:
    """The level that covers all of them; `None` adds nothing."""
    return max((first, *(other for other in others if other is not None)), key=lambda level: level.rank)


def lowest(first: Classification, *others: Classification | None) -> Classification:
    """The strictest clearance among them; `None` narrows nothing."""
    return min((first, *(other for other in others if other is not None)), key=lambda level: level.rank)
