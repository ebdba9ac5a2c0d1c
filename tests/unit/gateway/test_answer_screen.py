"""Answers are told as far as they may be, however they are cut into pieces."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import Classification
from eai.dlp.errors import DlpBlocked
from eai.dlp.ports import DlpAction, DlpRules
from eai.dlp.scanner import PatternScanner
from eai.gateway.answer_screen import AnswerPieces, AnswerScreen
from eai.identity.errors import ClearanceExceeded

CARD = "4111 1111 1111 1111"
IBAN = "GB29 NWBK 6016 1331 9268 19"
KEY = "ghp_" + "a1B2" * 9
TEXT = f"Your card {CARD} was charged. Send it to {IBAN}, or write to jean.dupont@exemple.fr about order 12."
REDACTED = "Your card [payment_card] was charged. Send it to [iban], or write to [email] about order 12."
REDACT: DlpRules = dict.fromkeys(("payment_card", "iban", "email"), DlpAction.REDACT)


def screen(rules: DlpRules, clearance: Classification = Classification.SECRET) -> AnswerScreen:
    return AnswerScreen(PatternScanner(), rules, clearance)


def cut(text: str, places: Sequence[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


@given(st.lists(st.integers(min_value=0), max_size=60))
async def test_pieces_tell_what_the_whole_would(places: list[int]) -> None:
    pieces = AnswerPieces(screen(REDACT))
    told = [await pieces.take(piece) for piece in cut(TEXT, places)]
    assert "".join([*told, await pieces.rest()]) == REDACTED == await screen(REDACT).whole(TEXT)
    assert pieces.screen.is_redacted
    assert pieces.screen.entities == {"payment_card", "iban", "email"}


async def test_words_leave_as_they_come() -> None:
    pieces = AnswerPieces(screen({}))
    assert [await pieces.take(piece) for piece in ("Parcels ", "leave ", "the depot ", "at noon.")] == [
        "Parcels", " leave", " the depot", ""
    ]  # fmt: skip
    assert await pieces.rest() == " at noon."


async def test_of_an_answer_that_is_blocked_no_part_of_it_was_told() -> None:
    pieces = AnswerPieces(screen({}))
    told = [await pieces.take(piece) for piece in ("The depot's ", "key is ", KEY[:10], KEY[10:])]
    with pytest.raises(DlpBlocked):
        await pieces.rest()
    assert "ghp" not in "".join(told)


async def test_an_answer_above_the_clearance_of_who_asks_is_refused() -> None:
    with pytest.raises(ClearanceExceeded) as refused:
        await screen({}, Classification.INTERNAL).whole(TEXT)
    assert refused.value.details == {"clearance": "internal", "entities": ["iban", "payment_card"]}
    assert await screen({}, Classification.CONFIDENTIAL).whole(TEXT) == TEXT


async def test_what_goes_on_without_an_end_is_not_held_for_ever() -> None:
    pieces = AnswerPieces(screen({}))
    told = [await pieces.take("1 2 " * 500) for _ in range(8)]
    assert len("".join(told)) > 8_000
