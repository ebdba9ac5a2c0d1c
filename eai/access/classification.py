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


def level_at(rank: int | None) -> Classification | None:
    """The level of a stored rank; where none is set, none."""
    return None if rank is None else LEVELS[rank]


def rank_of(level: Classification | None) -> int | None:
    """What the database stores for a level that may be unset."""
    return None if level is None else level.rank


def highest(first: Classification, *others: Classification | None) -> Classification:
    """The level that covers all of them; `None` adds nothing."""
    return max((first, *(other for other in others if other is not None)), key=lambda level: level.rank)


def lowest(first: Classification, *others: Classification | None) -> Classification:
    """The strictest clearance among them; `None` narrows nothing."""
    return min((first, *(other for other in others if other is not None)), key=lambda level: level.rank)
