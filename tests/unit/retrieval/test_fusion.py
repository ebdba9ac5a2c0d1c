import random
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.gateway.ports import FusionRule
from eai.kernel.ids import PointId
from eai.knowledge.ports import Hit
from eai.retrieval.fusion import ScoredHit, by_keyword, by_vector, fuse


def point(number: int) -> PointId:
    return PointId(UUID(int=number))


A, B, C = point(1), point(2), point(3)
RULE = FusionRule(dense_weight=0.25, dense_floor=0.2)


def test_both_legs_by_hand() -> None:
    # Likeness of A: (0.6 - 0.2) / 0.8 = 0.5; keyword score of A: 5 / (5 + 0.5 * 10) = 0.5, of C: 15 / 20.
    fused = fuse([Hit(A, 0.6), Hit(B, 1.0)], [Hit(C, 15.0), Hit(A, 5.0)], RULE, attainable=10.0)
    assert fused == (
        ScoredHit(C, pytest.approx(0.75 * 0.75), None, pytest.approx(0.75)),
        ScoredHit(A, pytest.approx(0.5), pytest.approx(0.8), pytest.approx(0.5)),
        ScoredHit(B, pytest.approx(0.25), pytest.approx(1.0), None),
    )


def test_one_leg_alone_is_scored_by_its_own_scale() -> None:
    assert by_vector([Hit(A, -1.0), Hit(B, 0.5)]) == (
        ScoredHit(B, 0.75, 0.75, None),
        ScoredHit(A, 0.0, 0.0, None),
    )
    assert by_keyword([Hit(A, 4.0)], attainable=8.0) == (ScoredHit(A, 0.5, None, 0.5),)


def test_ties_are_broken_by_id() -> None:
    hits = [Hit(C, 0.5), Hit(A, 0.5), Hit(B, 0.5)]
    assert [hit.id for hit in by_vector(hits)] == [A, B, C]
    assert [hit.id for hit in by_keyword(hits, 1.0)] == [A, B, C]
    assert [hit.id for hit in fuse(hits, hits, RULE, 1.0)] == [A, B, C]


def test_nothing_found_is_nothing() -> None:
    assert fuse([], [], RULE, 0.0) == by_vector([]) == by_keyword([], 0.0) == ()


def test_a_cosine_below_the_floor_adds_nothing_but_is_still_reported() -> None:
    assert fuse([Hit(A, 0.1)], [], RULE, 1.0) == (ScoredHit(A, 0.0, pytest.approx(0.55), None),)


COSINES = st.floats(-1.000001, 1.000001)
WEIGHTS = st.floats(0, 1e6)
DENSE = st.dictionaries(st.integers(0, 30).map(point), COSINES, max_size=20)
SPARSE = st.dictionaries(st.integers(0, 30).map(point), WEIGHTS, max_size=20)
RULES = st.builds(FusionRule, dense_weight=st.floats(0, 1), dense_floor=st.floats(-0.5, 0.9))
ATTAINABLE = st.floats(0.01, 1e3)


def hits(scores: dict[PointId, float]) -> list[Hit]:
    return [Hit(id_, score) for id_, score in scores.items()]


@given(DENSE, SPARSE, RULES, ATTAINABLE)
def test_scores_are_bounded_sorted_and_of_every_hit_once(
    dense: dict[PointId, float], sparse: dict[PointId, float], rule: FusionRule, attainable: float
) -> None:
    fused = fuse(hits(dense), hits(sparse), rule, attainable)
    assert sorted(hit.id for hit in fused) == sorted(dense.keys() | sparse.keys())
    assert all(before.score >= after.score for before, after in pairwise(fused))
    for hit in fused:
        assert 0 <= hit.score <= 1
        assert (hit.vector_score is None) == (hit.id not in dense)
        assert (hit.keyword_score is None) == (hit.id not in sparse)
        assert 0 <= (hit.vector_score or 0) <= 1
        assert 0 <= (hit.keyword_score or 0) <= 1


@given(DENSE, SPARSE, RULES, ATTAINABLE, st.randoms(use_true_random=False))
def test_the_order_of_the_hits_does_not_matter(
    dense: dict[PointId, float],
    sparse: dict[PointId, float],
    rule: FusionRule,
    attainable: float,
    order: random.Random,
) -> None:
    shuffled, shuffled_sparse = hits(dense), hits(sparse)
    order.shuffle(shuffled)
    order.shuffle(shuffled_sparse)
    expected = fuse(hits(dense), hits(sparse), rule, attainable)
    assert fuse(shuffled, shuffled_sparse, rule, attainable) == expected


@given(DENSE, SPARSE, RULES, ATTAINABLE, st.integers(0, 30).map(point))
def test_a_score_does_not_depend_on_the_hits_beside_it(
    dense: dict[PointId, float],
    sparse: dict[PointId, float],
    rule: FusionRule,
    attainable: float,
    hidden: PointId,
) -> None:
    everything = fuse(hits(dense), hits(sparse), rule, attainable)
    dense.pop(hidden, None)
    sparse.pop(hidden, None)
    without = fuse(hits(dense), hits(sparse), rule, attainable)
    assert without == tuple(hit for hit in everything if hit.id != hidden)


@given(
    st.lists(COSINES, min_size=2, max_size=2), st.lists(WEIGHTS, min_size=2, max_size=2), RULES, ATTAINABLE
)
def test_more_in_either_leg_is_never_less_in_all(
    cosines: list[float], raws: list[float], rule: FusionRule, attainable: float
) -> None:
    low = fuse([Hit(A, min(cosines))], [Hit(A, min(raws))], rule, attainable)
    high = fuse([Hit(A, max(cosines))], [Hit(A, max(raws))], rule, attainable)
    assert low[0].score <= high[0].score
