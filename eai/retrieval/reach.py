"""How far a query looks, and what it says when it could not look further.

A pass fetches so many hits a leg and re-checks the best of the fused list. When the re-check or the
request's own filter drops so many that the answer stays short, the next pass reaches further; the last
one ends the budget.

`partial_results` must not depend on what the caller may not see, so the budget is counted in passages
that the caller may read: the warning says that a thousand of them were looked at, none of them hidden by
`min_score`, and that the request's filter left fewer than asked for. Only the request, the passages that
the caller may read and their scores enter it. Hits that the re-check hides enter it in no way, as long as
there are no more than `HIDDEN_ALLOWANCE` in the way: the last pass fetches that many beyond the thousand.
Under the filter of rights classes hidden hits are only those whose change of rights is not projected yet.

A caller with more classes than a filter takes is searched for by generation alone. Then hidden hits are
many, and whether they got in the way must not show: such a caller is warned whenever the answer is short.
"""

from dataclasses import dataclass

from eai.kernel.immutable import Immutable

MARGIN = 15
"""Hits re-checked beyond `top_k` in the first pass: a stale one or two cost no second pass."""
PROMISED = 1_000
"""Readable passages that a query looks at before it gives up, if there are so many."""
HIDDEN_ALLOWANCE = 500
LEAST_FETCHED = 50
FURTHER = 250


@dataclass(frozen=True, slots=True)
class Reach(Immutable):
    """Hits fetched from each leg, and how many of the fused list are re-checked."""

    fetched: int
    checked: int


def reaches(top_k: int) -> tuple[Reach, Reach, Reach]:
    """The passes of a query for `top_k` passages, each further than the one before."""
    first = top_k + MARGIN
    last = PROMISED + HIDDEN_ALLOWANCE
    return (Reach(max(first, LEAST_FETCHED), first), Reach(FURTHER, FURTHER), Reach(last, 2 * last))
