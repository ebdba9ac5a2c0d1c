# ruff: noqa: RUF001 - signs that look like others are what is tested here

from collections.abc import Iterable

import pytest

from eai.access.classification import Classification
from eai.dlp.errors import DlpUnavailable
from eai.dlp.passage import Passage
from eai.dlp.ports import DlpAction, Finding, Verdict
from eai.dlp.scanner import DEFAULT_ACTIONS, PatternScanner
from eai.tenants.dlp_rules import DlpEntity
from eai.tenants.schemas import DlpRulesPatch

CARD = "4111 1111 1111 1111"
IBAN = "FR76 3000 6000 0112 3456 7890 189"
NIR = "1 85 05 78 006 084 91"
KEY = "ghp_" + "a1B2" * 9
ADDRESS = "jean.dupont@exemple.fr"


async def scan(*texts: str, **rules: DlpAction) -> Verdict:
    return await PatternScanner().scan(texts, rules)


def test_every_entity_has_a_consequence_and_a_setting() -> None:
    assert set(DEFAULT_ACTIONS) == set(DlpEntity) == set(DlpRulesPatch.model_fields)


async def test_nothing_follows_from_a_text_without_entities() -> None:
    verdict = await scan("Where is my parcel?", "Où est mon colis ?")
    assert verdict == Verdict((), ("Where is my parcel?", "Où est mon colis ?"))
    assert verdict.action is None


@pytest.mark.parametrize(
    ("text", "action", "level"),
    [
        (f"Card {CARD}", "raise", "confidential"),
        (f"Compte {IBAN}", "raise", "confidential"),
        (f"NIR {NIR}", "raise", "confidential"),
        (f"Key {KEY}", "quarantine", None),
        (f"Passeport 12AB34567, {ADDRESS}", "raise", "confidential"),
        ("Tél. 06 12 34 56 78, SIREN 552 100 554", "record", None),
        (f"Write to {ADDRESS}", "record", None),
    ],
)
async def test_each_entity_has_its_consequence(text: str, action: str, level: Classification | None) -> None:
    verdict = await scan(text)
    assert (verdict.action, verdict.level, verdict.texts) == (action, level, (text,))


async def test_the_strictest_consequence_counts_and_each_keeps_its_own() -> None:
    verdict = await scan(f"{ADDRESS}, {CARD}", f"{KEY}")
    assert verdict.findings == (
        Finding("email", 0, 0, 22, DlpAction.RECORD),
        Finding("payment_card", 0, 24, 43, DlpAction.RAISE),
        Finding("api_key", 1, 0, 40, DlpAction.QUARANTINE),
    )
    assert verdict.action is DlpAction.QUARANTINE
    assert verdict.level is Classification.CONFIDENTIAL


async def test_a_tenant_decides_for_itself_and_the_rest_stays() -> None:
    verdict = await scan(f"{ADDRESS}, {CARD}", payment_card=DlpAction.RECORD, email=DlpAction.REDACT)
    assert verdict.texts == (f"[email], {CARD}",)
    assert (verdict.action, verdict.level) == (DlpAction.REDACT, None)


async def test_a_redacted_text_has_the_name_of_what_was_there() -> None:
    redact = {entity.value: DlpAction.REDACT for entity in DlpEntity}
    verdict = await scan(f"Paie {CARD} ou {IBAN}.", "rien", f"{NIR}; {KEY}; {ADDRESS}", **redact)
    assert verdict.texts == ("Paie [payment_card] ou [iban].", "rien", "[nir]; [api_key]; [email]")


async def test_offsets_are_those_of_the_given_text() -> None:
    text = "①② déjà\u200b : ４111\u00a01111\u200b\u00a011111111 ﬁn"
    (finding,) = (await scan(text)).findings
    assert text[finding.start : finding.end] == "４111\u00a01111\u200b\u00a011111111"


async def test_a_card_split_over_passages_is_found_and_redacted_in_both() -> None:
    verdict = await scan("Ma carte : 4111 1111", "1111 1111, merci", "fin", payment_card=DlpAction.REDACT)
    assert verdict.texts == ("Ma carte : [payment_card]", "[payment_card], merci", "fin")
    assert {(finding.text, finding.start, finding.end) for finding in verdict.findings} == {
        (0, 11, 20),
        (1, 0, 9),
    }


async def test_a_card_given_digit_by_digit_is_found() -> None:
    verdict = await scan(*"4111111111111111", payment_card=DlpAction.REDACT)
    assert verdict.texts == ("[payment_card]",) * 16


async def test_an_address_split_over_passages_is_found_whole() -> None:
    verdict = await scan("write to jean.du", "pont@exemple.fr", email=DlpAction.REDACT)
    assert verdict.texts == ("write to [email]", "[email]")


async def test_a_private_key_is_found_in_every_passage_it_runs_through() -> None:
    lines = ["Ab0+" * 16] * 25
    key = "\n".join(["-----BEGIN " + "PRIVATE KEY-----", *lines, "-----END " + "PRIVATE KEY-----"])
    passages = ["intro", key[:600], key[600:1200], key[1200:], "outro"]
    verdict = await scan(*passages, private_key=DlpAction.REDACT)
    assert verdict.texts == ("intro", *["[private_key]"] * 3, "outro")


async def test_numbers_on_either_side_of_a_border_are_not_one() -> None:
    assert (await scan("chapter 4111", "1111 apples", "1111 pears 1111")).findings == ()


async def test_a_large_text_is_searched_beside_the_event_loop_with_the_same_result() -> None:
    filler = "Une phrase sans rien. " * 5_000
    verdict = await scan(filler + CARD + filler, payment_card=DlpAction.REDACT)
    assert verdict.texts == (f"{filler}[payment_card]{filler}",)


class Broken:
    entity, reach = "email", 10

    def may_hold(self, passage: Passage) -> bool:
        return bool(passage.text)

    def find(self, passage: Passage) -> Iterable[tuple[int, int]]:
        raise RecursionError(passage.text)


@pytest.mark.parametrize("text", ["short", "long " * 20_000])
async def test_what_could_not_be_searched_is_refused_without_a_word_of_it(text: str) -> None:
    with pytest.raises(DlpUnavailable) as refused:
        await PatternScanner([Broken()]).scan([text], {})
    assert (refused.value.code, refused.value.status, refused.value.__cause__) == (
        "dlp_unavailable",
        503,
        None,
    )
