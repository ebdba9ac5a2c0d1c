from hypothesis import given

from eai.access.classification import LEVELS, Classification, highest, level_at, lowest, rank_of
from tests.unit.access.strategies import levels


def test_the_levels_are_five_and_lowest_first() -> None:
    assert [level.value for level in LEVELS] == ["public", "internal", "confidential", "restricted", "secret"]
    assert [level.rank for level in LEVELS] == [0, 1, 2, 3, 4]


def test_a_level_exceeds_only_those_below_it() -> None:
    assert Classification.SECRET.exceeds(Classification.RESTRICTED)
    assert not Classification.INTERNAL.exceeds(Classification.INTERNAL)
    assert not Classification.PUBLIC.exceeds(Classification.INTERNAL)


def test_an_absent_level_changes_nothing() -> None:
    assert highest(Classification.PUBLIC, None, Classification.CONFIDENTIAL) == Classification.CONFIDENTIAL
    assert lowest(Classification.SECRET, None) == Classification.SECRET


@given(levels, levels, levels)
def test_join_and_meet_form_a_lattice(a: Classification, b: Classification, c: Classification) -> None:
    for join in (highest, lowest):
        assert join(a, b) == join(b, a)
        assert join(a, join(b, c)) == join(join(a, b), c) == join(a, b, c)
        assert join(a, a) == a
    assert highest(a, lowest(a, b)) == a
    assert lowest(a, highest(a, b)) == a


@given(levels, levels, levels)
def test_exceeding_is_a_strict_total_order(a: Classification, b: Classification, c: Classification) -> None:
    assert (a.exceeds(b), b.exceeds(a), a == b).count(True) == 1
    if a.exceeds(b) and b.exceeds(c):
        assert a.exceeds(c)


@given(levels, levels)
def test_the_join_is_the_least_level_that_covers_both(a: Classification, b: Classification) -> None:
    joined = highest(a, b)
    assert not a.exceeds(joined)
    assert not b.exceeds(joined)
    assert joined in {a, b}


def test_a_stored_rank_may_be_unset_as_a_level_may() -> None:
    assert (level_at(3), level_at(None)) == (Classification.RESTRICTED, None)
    assert (rank_of(Classification.RESTRICTED), rank_of(None)) == (3, None)
