from dataclasses import replace

import pytest

from eai.knowledge.ports import SearchHits
from eai.retrieval.reach import reaches
from eai.retrieval.values import Found, Readable
from tests.unit.retrieval.passages import question


def readable(
    *, rights_keys: tuple[str, ...] | None = ("g:1",), looked_at: int = 0, is_cut: bool = False
) -> Readable:
    """A short answer."""
    found = Found(question(rights_keys=rights_keys), SearchHits())
    return Readable(found, (), readable=looked_at, is_cut=is_cut, has_more=True, is_torn=False)


@pytest.mark.parametrize("top_k", [1, 5, 100])
def test_every_pass_reaches_further_than_the_one_before(top_k: int) -> None:
    first, second, last = reaches(top_k)
    assert top_k < first.checked <= first.fetched < second.fetched < last.fetched
    assert first.checked < second.checked < last.checked


def test_the_last_pass_checks_everything_that_two_legs_can_fetch() -> None:
    *_, last = reaches(5)
    assert (last.fetched, last.checked) == (1_500, 3_000)


def test_passes_end() -> None:
    asked = question()
    assert len(asked.passes) == 3
    last = Found(asked.further().further(), SearchHits())
    assert not replace(readable(), found=last).wants_further


@pytest.mark.parametrize("narrow", [{"filters": {"metadata": {"a": 1}}}, {"rights_keys": None}])
def test_where_most_hits_are_dropped_the_first_pass_is_left_out(narrow: dict[str, object]) -> None:
    assert question(**narrow).passes == question().passes[1:]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rights_keys", "looked_at", "is_cut", "is_partial"),
    [
        (("g:1",), 999, False, False),
        (("g:1",), 1_000, False, True),
        (("g:1",), 1_000, True, False),
        (None, 0, False, True),
        (None, 0, True, True),
        ((), 0, False, False),
    ],
)
def test_a_short_answer_is_partial_by_what_may_be_read_alone(
    rights_keys: tuple[str, ...] | None, looked_at: int, is_cut: bool, is_partial: bool
) -> None:
    assert readable(rights_keys=rights_keys, looked_at=looked_at, is_cut=is_cut).is_partial is is_partial
