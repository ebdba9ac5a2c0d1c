from hypothesis import given
from hypothesis import strategies as st

from eai.platform.i18n import Language, Message, field_messages, finding_messages, messages, negotiate


def test_the_language_with_the_highest_weight_is_chosen() -> None:
    assert negotiate("fr") is Language.FR
    assert negotiate("fr-CA,fr;q=0.9,en;q=0.8") is Language.FR
    assert negotiate("en;q=0.2, fr-CA;q=0.9") is Language.FR
    assert negotiate("fr;q=0.4, en;q=0.5") is Language.EN
    assert negotiate("FR-ca") is Language.FR


def test_equal_weights_go_to_the_first_named() -> None:
    assert negotiate("fr, en") is Language.FR
    assert negotiate("en, fr") is Language.EN


def test_english_answers_whoever_names_neither() -> None:
    assert negotiate(None) is Language.EN
    assert negotiate("") is Language.EN
    assert negotiate("de, ja;q=0.5") is Language.EN
    assert negotiate("*") is Language.EN


def test_a_star_stands_for_the_languages_that_are_not_named() -> None:
    assert negotiate("en;q=0, *") is Language.FR
    assert negotiate("fr;q=0.3, *;q=0.5") is Language.EN


def test_weight_zero_means_never() -> None:
    assert negotiate("fr;q=0") is Language.EN
    assert negotiate("fr;q=0, en;q=0") is Language.EN


def test_nonsense_weights_count_as_never() -> None:
    assert negotiate("fr;q=much, en;q=0.1") is Language.EN
    assert negotiate("fr;q=7, en;q=0.1") is Language.EN


@given(st.text())
def test_any_header_is_survived(header: str) -> None:
    assert negotiate(header) in set(Language)


def test_details_fill_the_placeholders_of_every_language() -> None:
    message = Message({Language.EN: "Send one of: {accepted}.", Language.FR: "Envoyez : {accepted}."})
    assert message.placeholders == {"accepted"}
    assert message.say(Language.EN, {"accepted": ["a", "b"]}) == "Send one of: a, b."
    assert message.say(Language.FR, {"accepted": ["a", "b"]}) == "Envoyez : a, b."


def test_an_absent_detail_leaves_its_name_standing() -> None:
    message = Message({Language.EN: "At most {limit}.", Language.FR: "Au plus {limit}."})
    assert message.say(Language.EN, {}) == "At most {limit}."


def test_no_message_is_the_same_text_in_both_languages() -> None:
    told = {**messages(), **field_messages(), **finding_messages()}
    assert [code for code, message in told.items() if message[Language.EN] == message[Language.FR]] == []


def test_every_message_is_a_sentence() -> None:
    told = [*messages().values(), *finding_messages().values()]
    texts = [text for message in told for text in message.values()]
    assert [text for text in texts if not text.endswith(".") or not text[0].isupper()] == []
