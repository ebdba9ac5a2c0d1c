"""Attack line 71: whatever is put inside a number, and wherever it stands, it is found and taken out."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from textwrap import fill
from urllib.parse import quote

from hypothesis import assume, given
from hypothesis import strategies as st

from eai.dlp.normalisation import normalise
from eai.dlp.passage import Passage
from eai.dlp.ports import DlpAction
from eai.dlp.recognition import RECOGNISERS, recognise
from eai.dlp.scanner import PatternScanner
from tests.unit.dlp.finding import entities, found
from tests.unit.dlp.planted import (
    cards,
    disguised,
    ibans,
    printable_words,
    quiet_words,
    spelt,
    stroked,
    usual,
    words,
)

SECRETS = st.sampled_from([
    "a@example.org",
    "AKIA" + "A2" * 8,
    "ghp_" + "a1" * 20,
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    b64encode(b"write to somebody@example.org today").decode(),
    "1 85 05 78 006 084 91",
])  # fmt: skip
REDACT_ALL = {str(recogniser.entity): DlpAction.REDACT for recogniser in RECOGNISERS}


def stands_apart(before: str, after: str) -> bool:
    """Whether no digit touches what is put between the two."""
    return not (normalise(before).text[-1:].isdigit() or normalise(after).text[:1].isdigit())


def stands_alone(before: str, after: str) -> bool:
    """The same, also when separators are passed over."""
    passed = "".join(map(chr, range(0x21))) + ".-"
    return stands_apart(normalise(before).text.rstrip(passed), normalise(after).text.lstrip(passed))


@given(words, cards().flatmap(disguised), words)
def test_a_card_number_is_found_whatever_stands_between_its_digits(
    before: str, card: str, after: str
) -> None:
    assume(stands_alone(before, after))
    assert ("payment_card", card) in found(before + card + after)


@given(words, cards().flatmap(usual), words)
def test_a_card_number_as_it_is_usually_written_is_found_among_other_numbers(
    before: str, card: str, after: str
) -> None:
    assume(stands_apart(before, after))
    parts = [part for entity, part in found(before + card + after) if entity == "payment_card"]
    assert any(card in part for part in parts)


@given(words, ibans().flatmap(disguised), words)
def test_an_account_number_is_found_anywhere(before: str, number: str, after: str) -> None:
    assert ("iban", number) in found(before + number + after)


@given(words, st.one_of(cards(), ibans()).flatmap(stroked), words)
def test_a_number_is_found_across_strokes(before: str, number: str, after: str) -> None:
    assume(stands_apart(before, after))
    assert any(number in part for _, part in found(f"{before} {number} {after}"))


@given(quiet_words, st.one_of(cards(), ibans()), quiet_words, st.data())
def test_a_number_is_found_sign_by_sign(before: str, number: str, after: str, data: st.DataObject) -> None:
    written = data.draw(spelt(number))
    entity = "iban" if number[0].isalpha() else "payment_card"
    assert (entity, written) in found(f"{before} <{written}> {after}")


@given(words, st.sampled_from(["a@b.example", "4111 1111 1111 1111", "FR76 3000 6000 0112 3456 7890 189"]))
def test_what_an_address_of_the_web_holds_is_found_where_it_stands(before: str, held: str) -> None:
    assume(stands_apart(before, ""))
    written = quote(held, safe="")
    assert written in [part for _, part in found(f"{before}https://x.example/?q={written}&page=2")]
    assert quote(written) in [part for _, part in found(f"https://x.example/?q={quote(written)}&page=2")]


@given(st.sampled_from([b64encode, urlsafe_b64encode]), cards())
def test_a_card_that_is_all_that_was_encoded_is_found(encode: Callable[[bytes], bytes], card: str) -> None:
    encoded = encode(card.encode()).decode()
    assert found(f"see {encoded} there") == [("payment_card", encoded)]


@given(
    printable_words,
    st.one_of(cards(), ibans()),
    printable_words,
    st.sampled_from([b64encode, urlsafe_b64encode]),
)
def test_what_is_encoded_is_found(before: str, number: str, after: str, encode: type) -> None:
    text = f"{before} ({number}) {after}"
    encoded = encode(text.encode()).decode()
    expected = {"iban" if number[0].isalpha() else "payment_card"}
    assert expected <= entities(f"see {encoded} there")
    assert expected <= entities(f"see\n{fill(encoded, 76)}\nthere")


@given(
    quiet_words, st.lists(st.tuples(st.one_of(cards(), ibans()).flatmap(disguised), quiet_words), max_size=4)
)
async def test_redaction_takes_out_what_was_planted_and_nothing_else(
    first: str, planted: Sequence[tuple[str, str]]
) -> None:
    text = first + "".join(f"|{number}|{after}" for number, after in planted)
    names = ["iban" if normalise(number).text[0].isalpha() else "payment_card" for number, _ in planted]
    verdict = await PatternScanner().scan([text], REDACT_ALL)
    kept = first + "".join(f"|[{name}]|{after}" for name, (_, after) in zip(names, planted, strict=True))
    assert verdict.texts == (kept,)
    assert entities(kept) == set()


@given(words, st.one_of(cards(), ibans()), words, st.data())
async def test_a_number_across_texts_is_found_in_each_of_them(
    before: str, number: str, after: str, data: st.DataObject
) -> None:
    assume(stands_alone(before, after))
    written = data.draw(disguised(number))
    cut = data.draw(st.integers(1, len(written) - 1))
    glue = data.draw(st.sampled_from(["", " ", "\n"]))
    texts = [before + written[:cut] + glue, written[cut:] + after]
    verdict = await PatternScanner().scan(texts, REDACT_ALL)
    assert {0, 1} <= {finding.text for finding in verdict.findings}
    assert number not in normalise("".join(verdict.texts)).text.replace(" ", "")


@given(
    st.lists(
        st.one_of(
            words,
            cards(),
            ibans(),
            cards().flatmap(stroked),
            st.sampled_from(["a@b.fr", "PRIVATE KEY", "AKIA"]),
        )
    )
)
def test_what_is_dismissed_at_a_glance_holds_nothing(parts: list[str]) -> None:
    passage = Passage(normalise("".join(parts)).text)
    for recogniser in RECOGNISERS:
        assert recogniser.may_hold(passage) or not list(recogniser.find(passage))


@given(st.lists(st.one_of(words, quiet_words, cards().flatmap(disguised), ibans(), SECRETS), max_size=5))
def test_what_is_found_in_a_text_alone_is_found_among_others(texts: Sequence[str]) -> None:
    read = [normalise(text).text for text in texts]
    alone = {(number, *one[1:]) for number, text in enumerate(read) for one in recognise([text], RECOGNISERS)}
    among = recognise(read, RECOGNISERS)
    for number, start, end, entity in alone:
        assert any(
            (one.text, one.entity) == (number, entity) and one.start <= start and end <= one.end
            for one in among
        )


def test_a_key_that_lost_its_spaces_to_the_borders_between_texts_is_found_whole() -> None:
    parts = [
        "-----BEGIN", "PRIVATE", "KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
        "-----END", "PRIVATE", "KEY-----",
    ]  # fmt: skip
    found_of = recognise(parts, RECOGNISERS)
    assert {one.text for one in found_of if one.entity == "private_key"} == set(range(7))
