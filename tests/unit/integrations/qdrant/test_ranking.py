from dataclasses import dataclass
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from eai.integrations.qdrant.ranking import TIE_SLACK, ranked
from eai.kernel.ids import PointId


@dataclass(frozen=True)
class Found:
    score: float
    number: int


def id_of(found: Found) -> PointId:
    return PointId(UUID(int=found.number))


def rank(points: list[Found], limit: int) -> list[tuple[int, float]]:
    return [(identity.int, score) for identity, score in ranked(points, limit, id_of)]


def test_equal_scores_are_ordered_by_id() -> None:
    points = [Found(0.5, 9), Found(0.5, 2), Found(0.25, 1)]
    assert rank(points, 10) == [(2, 0.5), (9, 0.5), (1, 0.25)]


def test_a_tie_at_the_cut_keeps_the_lowest_ids() -> None:
    points = [Found(0.9, 8), Found(0.5, 9), Found(0.5, 3), Found(0.5, 1), Found(0.1, 0)]
    assert rank(points, 2) == [(8, 0.9), (1, 0.5)]


def test_a_limit_of_nothing_gives_nothing() -> None:
    assert rank([Found(0.5, 1)], 0) == []


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=TIE_SLACK), st.randoms(), st.integers(1, 9))
def test_the_engines_order_among_equals_does_not_matter(scores: list[float], random, limit: int) -> None:
    points = [Found(score, number) for number, score in enumerate(scores)]
    shuffled = random.sample(points, len(points))
    engine_order = sorted(shuffled, key=lambda found: -found.score)
    assert (
        rank(engine_order, limit)
        == [
            (found.number, found.score)
            for found in sorted(points, key=lambda found: (-found.score, found.number))
        ][:limit]
    )
