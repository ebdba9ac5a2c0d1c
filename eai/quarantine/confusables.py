"""Letters of other alphabets, and of rare blocks, that readers take for Latin ones."""

# ruff: noqa: RUF001 - signs that look like others are what this table is about

from collections.abc import Mapping


def _table(foreign: str, latin: str) -> dict[str, str]:
    return dict(zip(foreign, latin, strict=True))


_CYRILLIC = _table(
    "асԁеһіјкӏмпорԛгѕтѵѡԝхуүьҽАВСЕԌНІЈКМОРЅТѴԜХУҮ",
    "acdehijklmnopqrstvwwxyybeABCEGHIJKMOPSTVWXYY",
)
_GREEK = _table(
    "αϲεηιϳκνορστυχγωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "acenijkvopotuxywABEZHIKMNOPTYX",
)
_OTHER = _table(
    ("օսոհցɑɡıɩȷłŁøØđħŧɓɗɛʀɪɴɢʏʙʜʟᴀᴄᴅᴇᴊᴋᴍᴏᴘꜰꜱᴛᴜᴠᴡᴢᎪᏴᏟᎬᎻᎫᏦᎷᏢᏚᎢᎳᏃꓮꓐꓚꓓꓰꓝꓖꓧꓲꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ’ʼ‘＇"),
    ("ounhgagiijlLoOdhtbderingybhlacdejkmopfstuvwzABCEHJKMPSTWZABCDEFGHIKLMNOPRSTUVWXYZ''''"),
)
_SYMBOLS = {
    chr(start + offset): chr(ord("A") + offset)
    for start in (0x1F150, 0x1F170, 0x1F1E6)  # circled, squared, and what flags are made of
    for offset in range(26)
}

_LAST_CYRILLIC = 0x052F

LATIN_LOOKALIKES: Mapping[str, str] = _CYRILLIC | _GREEK | _OTHER | _SYMBOLS
"""The plain letter that each of them is taken for."""

MIXED_IN: frozenset[str] = frozenset(
    set(_CYRILLIC)
    | (set(_GREEK) - set("αεηικνρστυχγω"))
    | {sign for sign in _OTHER if ord(sign) > _LAST_CYRILLIC}
) - frozenset("’‘ᴀᴄᴅᴇᴊᴋᴍᴏᴘꜰꜱᴛᴜᴠᴡᴢ")
"""Those that have no business inside a Latin word; Greek small letters stand in terms such as TNFα."""
