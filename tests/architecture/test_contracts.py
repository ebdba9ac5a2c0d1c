"""Codes, words, contracts and pages say the same."""

from eai.api.contracts import ROOT, outdated
from eai.api.error_reference import error_codes
from eai.platform.i18n import field_messages


def test_every_code_has_its_words_and_every_word_its_code() -> None:
    assert error_codes()


def test_what_is_promised_is_what_the_code_does() -> None:
    assert [str(path.relative_to(ROOT)) for path in outdated()] == [], "run: make contracts"


def test_faults_without_words_of_their_own_have_some_to_fall_back_on() -> None:
    assert "other" in field_messages()
