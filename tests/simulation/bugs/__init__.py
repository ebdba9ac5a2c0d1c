"""Bugs that somebody might make: each takes one guard away, for as long as its patch lasts.

They prove the checker: schedules that are played on one of them must fail, within so many of them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tests.simulation.bugs import documents, generations, queries

Patch = AbstractContextManager[Any]


@dataclass(frozen=True)
class Bug:
    """One of `within` schedules from `first` on finds it, and says so beginning with one of `invariants`."""

    makes: Callable[[], Patch]
    invariants: tuple[str, ...]
    within: int
    first: int = 0

    @property
    def name(self) -> str:
        return self.makes.__name__


DEADLOCK = "these wait for each other"
"""What a schedule ends with in which nobody can go on: attempts at one job lock what it has in any order."""

BUGS = (
    Bug(documents.delete_then_add, ("I6",), 20),
    Bug(documents.points_retired_before_the_swap, ("I3",), 20),
    Bug(
        documents.old_text_over_new,
        (
            "I2",
            "I12",
        ),
        20,
        3660,
    ),
    Bug(documents.replaced_under_old_rights, ("I12",), 20),
    Bug(documents.rights_wait_for_the_swap, ("I12",), 20),
    Bug(documents.rows_removed_before_points, ("I3",), 40, 230),
    Bug(documents.no_fence, ("I3", DEADLOCK), 20, 295),
    Bug(generations.generation_not_pinned, ("I6",), 20, 5),
    Bug(generations.flipped_unverified, ("I6",), 20, 780),
    Bug(generations.rights_moved_where_searched_only, ("I12",), 20, 30),
    Bug(generations.stored_with_old_rights, ("I12",), 20, 125),
    Bug(
        generations.dropped_though_serving,
        (
            "I4",
            "I5",
        ),
        20,
        85,
    ),
    Bug(queries.keyword_leg_unfiltered, ("I1",), 20),
    Bug(queries.recheck_skipped, ("I1",), 40, 0),
    Bug(queries.torn_unnoticed, ("I6",), 20, 105),
)
