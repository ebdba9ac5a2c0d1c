"""Signs that HTML and Markdown write by name or number: what a reader sees in their place is found."""

import pytest

from eai.dlp.encoded import unescaped
from eai.dlp.passage import Passage
from eai.dlp.ports import DlpAction
from eai.dlp.scanner import PatternScanner
from eai.privacy.identifiers import Identifiers
from eai.tenants.dlp_rules import DlpEntity
from tests.unit.dlp.finding import found

CARD = "4539148803436467"
REDACT = {entity.value: DlpAction.REDACT for entity in DlpEntity}


def read(text: str) -> str:
    escaped = unescaped(Passage(text))
    return text if escaped is None else escaped[0]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a&nbsp;b&#160;c&#xA0;d&#8239;e", "a\u00a0b\u00a0c\u00a0d\u202fe"),
        ("jean&#64;dupont&period;fr", "jean@dupont.fr"),
        ("&#52&#X35;&#0000051;", "453"),
        ("4539&#150;1488", "4539\u20131488"),
        ("du&shy;pont", "du\u00adpont"),
        ("caf&eacute;", "café"),
        ("one<br>two<BR />three<br\n/>", "one\ntwo\nthree\n"),
        ("&#xD800;&#1114112;&#1;", "\ufffd\ufffd?"),
        ("&NotEqualTilde;.", "≂."),
    ],
)
def test_one_sign_stands_for_each(text: str, seen: str) -> None:
    assert read(text) == seen


@pytest.mark.parametrize(
    "text", ["AT&T; R&D", "?a=1&nbspx=2", "&;&#;&#x;&#0;", "a < b", "<b>", "<broken>", "&n b;", "&nbsp4539;"]
)
def test_what_names_no_sign_stays_as_it_is(text: str) -> None:
    assert unescaped(Passage(text)) is None


@pytest.mark.parametrize(
    ("entity", "written"),
    [
        ("payment_card", "4539&nbsp;1488&nbsp;0343&nbsp;6467"),
        ("payment_card", "4539&#160;1488&#160;0343&#160;6467"),
        ("payment_card", "4539&#8239;1488&#x202F;0343&thinsp;6467"),
        ("payment_card", "".join(f"&#{ord(digit)};" for digit in CARD)),
        ("payment_card", "".join(f"&#x{ord(digit):x};" for digit in CARD)),
        ("payment_card", "4539&amp;nbsp;1488&amp;nbsp;0343&amp;nbsp;6467"),
        ("payment_card", "4539 1488<br>0343 6467"),
        ("payment_card", "4539 1488<br/>\n0343 6467"),
        ("payment_card", "4539&shy;1488&zwnj;0343&ZeroWidthSpace;6467"),
        ("iban", "FR76&nbsp;3000&nbsp;6000&nbsp;0112&nbsp;3456&nbsp;7890&nbsp;189"),
        ("nir", "1&nbsp;85&nbsp;05&nbsp;78&nbsp;006&nbsp;084&nbsp;91"),
        ("phone", "06&nbsp;12&nbsp;34&nbsp;56&nbsp;78"),
        ("email", "jean&#64;dupont.fr"),
        ("email", "&#106;ean&commat;dupont&#46;f&#114;"),
    ],
)
async def test_it_is_found_and_taken_out_whole(entity: str, written: str) -> None:
    text = f"**Paid** &amp; done: {written}&nbsp;&mdash; thanks."
    assert found(text) == [(entity, written)]
    verdict = await PatternScanner().scan([text], REDACT)
    assert verdict.texts == (f"**Paid** &amp; done: [{entity}]&nbsp;&mdash; thanks.",)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("jean@dupont.fr", "jean&#64;dupont.fr"),
        ("jean@dupont.fr", "&#106;ean&commat;dupont.f&#114;"),
        ("Andr\u00e9 Morel", "Andr&eacute;&nbsp;Morel"),
        ("185057800608491", "1&nbsp;85&nbsp;05&nbsp;78&nbsp;006&nbsp;084&nbsp;91"),
    ],
)
def test_a_person_is_found_and_their_place_is_whole(value: str, written: str) -> None:
    text = f"To {written}&nbsp;: welcome."
    assert [text[each.start : each.end] for each in Identifiers.of([value]).places(text)] == [written]
