"""Passages that are to those of their base as none of these is to the others."""

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eai.quarantine.examination import compare
from eai.quarantine.neighbourhood import Vectors
from eai.quarantine.ports import Finding
from eai.quarantine.specimen import Specimen

DIMENSIONS, SHARED = 64, 4.0
TEXT = "The first passage. The second passage. The third passage."
SPANS = [(0, 18), (19, 38), (39, 57)]


def passages(count: int, seed: int = 0) -> Vectors:
    """Of one base: each is about something of its own, and all have a little in common."""
    own = np.random.default_rng(seed).standard_normal((count, DIMENSIONS))
    own[:, 0] += SHARED
    return own.astype(np.float32)


BASE = passages(200)
USUAL = passages(3, seed=1)
CENTRE = np.eye(DIMENSIONS, dtype=np.float32)[0]
"""What all have in common, and nothing else."""
AWAY = -CENTRE


def found(vectors: Vectors, known: Vectors = BASE) -> list[Finding]:
    spans = SPANS[: len(vectors)]
    return list(compare(Specimen.plain(TEXT), spans, vectors, known))


def told(vectors: Vectors, known: Vectors = BASE) -> list[tuple[str, str]]:
    return [(each.reason.value, TEXT[each.start : each.end]) for each in found(vectors, known)]


def with_second(vector: Vectors) -> Vectors:
    return np.stack([USUAL[0], vector, USUAL[2]])


def test_passages_like_those_of_the_base_are_not_found() -> None:
    assert found(USUAL) == []
    assert found(passages(3, seed=2)) == []


def test_a_passage_near_everything_is_found_where_it_stands() -> None:
    [hub] = found(with_second(CENTRE))
    assert (hub.detector, hub.reason.value, hub.severity.value) == ("hubs", "near_everything", "medium")
    assert (hub.start, hub.end, hub.place.value) == (19, 38, "text")
    assert hub.excerpt == "The second passage."


def test_a_passage_far_from_everything_is_found_where_it_stands() -> None:
    [outlier] = found(with_second(AWAY))
    assert (outlier.detector, outlier.reason.value, outlier.severity.value) == (
        "outliers",
        "far_from_base",
        "low",
    )
    assert (outlier.start, outlier.end, outlier.excerpt) == (19, 38, "The second passage.")


def test_every_passage_is_judged_by_itself_however_many_there_are() -> None:
    spans = [(at, at + 1) for at in range(3_000)]
    vectors = np.concatenate([AWAY[np.newaxis], *[USUAL[:1]] * 2_998, CENTRE[np.newaxis]])
    marked = compare(Specimen.plain("x" * 3_000), spans, vectors, BASE)
    assert [(each.start, each.detector) for each in marked] == [(0, "outliers"), (2_999, "hubs")]


def test_a_base_of_few_passages_tells_nothing() -> None:
    assert found(np.stack([CENTRE, AWAY]), BASE[:63]) == []
    assert [each.detector for each in found(np.stack([CENTRE, AWAY]), BASE[:64])] == ["hubs", "outliers"]
    assert found(np.stack([CENTRE, AWAY]), BASE[:0]) == []


def test_the_same_passage_many_times_is_one() -> None:
    assert found(np.stack([CENTRE, AWAY]), np.concatenate([BASE[:63]] * 10)) == []
    assert told(with_second(CENTRE), np.concatenate([BASE, *[BASE[:1]] * 100])) == [
        ("near_everything", "The second passage.")
    ]


def test_a_base_that_repeats_one_passage_and_a_passage_without_direction_break_nothing() -> None:
    assert found(with_second(np.zeros(DIMENSIONS, np.float32)))[0].detector == "outliers"
    alike = BASE[:1] + np.linspace(0, 1e-3, 100, dtype=np.float32)[:, np.newaxis]
    assert told(np.concatenate([BASE[:1], USUAL[:1]]), alike) == [("far_from_base", "The second passage.")]


def test_the_same_words_have_the_same_fingerprint_whatever_they_are_compared_with() -> None:
    [here] = found(with_second(CENTRE))
    [there] = found(with_second(CENTRE), passages(500, seed=4))
    assert here.fingerprint == there.fingerprint
    [elsewhere] = found(np.stack([CENTRE, *USUAL[:2]]))
    assert elsewhere.fingerprint != here.fingerprint


@given(st.randoms(use_true_random=False), st.integers(64, 200), st.integers(0, 3))
def test_neither_order_nor_length_nor_repetition_of_what_is_known_makes_a_difference(
    dice: Random, size: int, again: int
) -> None:
    known = BASE[:size]
    order = list(range(size)) + [dice.randrange(size) for _ in range(again)]
    dice.shuffle(order)
    other = known[order] * np.float32(2 ** dice.randint(-3, 3))
    vectors = np.stack([CENTRE, USUAL[0], AWAY])
    assert found(vectors, other) == found(vectors, known)


@given(st.integers(0, 63), st.integers(0, 2**32 - 1))
def test_below_the_minimum_nothing_is_judged(size: int, seed: int) -> None:
    known = passages(size, seed)
    assert found(np.stack([CENTRE, AWAY, USUAL[0]]), known) == []


def test_of_those_that_belong_either_detector_finds_less_than_one_in_a_hundred() -> None:
    spans = [(at, at + 1) for at in range(2_000)]
    marked = compare(Specimen.plain("x" * 2_000), spans, passages(2_000, seed=5), passages(1_024, seed=6))
    assert Counter(each.detector for each in marked) == {"hubs": 6, "outliers": 7}


def test_among_passages_that_are_all_alike_a_little_is_not_far() -> None:
    alike = (CENTRE + passages(200, seed=7) / 1_000).astype(np.float32)
    assert found((CENTRE + 1.3 * passages(3, seed=8) / 1_000).astype(np.float32), alike) == []
    assert told(np.stack([alike[0], AWAY]), alike) == [("far_from_base", "The second passage.")]
