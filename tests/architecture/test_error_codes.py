"""Codes, words, contract and page say the same."""

from eai.api.error_reference import CONTRACT, PAGE, contract_of, error_codes, page_of
from eai.platform.i18n import field_messages


def test_every_code_has_its_words_and_every_word_its_code() -> None:
    assert error_codes()


def test_the_contract_is_what_the_code_says() -> None:
    assert CONTRACT.read_text("utf-8") == contract_of(error_codes()), "run: make contracts"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text("utf-8") == page_of(error_codes()), "run: make contracts"


def test_faults_without_words_of_their_own_have_some_to_fall_back_on() -> None:
    assert "other" in field_messages()
