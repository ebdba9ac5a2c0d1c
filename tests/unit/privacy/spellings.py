"""People's identifiers, made up, and the ways in which documents spell them; some, no search finds."""

import random
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from unicodedata import normalize
from urllib.parse import quote

from tests.unit.dlp.planted import iban, luhn

VALUES = 20
SENTENCES = (
    "Please note {} in the file before noon.",
    "Merci de noter {} dans le dossier avant midi.",
)
FIRST = ("Jeanne", "Élodie", "Tom", "Aïcha", "Zoë", "Noor", "Ludovic", "Maëlle", "Ines", "Paul")
LAST = ("Morel", "Lefèvre", "O'Brien", "Bensaïd", "Müller", "Petit-Jean", "Okafor", "Garção", "Roy", "Novák")


def _grouped(number: str, gap: str) -> str:
    return gap.join(number[at : at + 4] for at in range(0, len(number), 4))


def _wide(text: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in text)


def _encoded(text: str) -> str:
    return b64encode(f"so {text} it is".encode()).decode()


def _escaped(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


ANY: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "in a row of hidden characters": "\u200b".join,
    "full width": _wide,
    "in base64": _encoded,
    "in hexadecimal": lambda text: f"so {text}".encode().hex(),
    "escaped": _escaped,
}
NUMBERS = {
    **ANY,
    **{
        f"in groups, {ord(gap):x} between": lambda text, gap=gap: _grouped(text, gap)
        for gap in " .-\u00a0\u202f\n"
    },
    "with words between": lambda text: _grouped(text, " and then "),
    "with a letter for a digit": lambda text: text[:-1] + "l",
}
PHONES = {
    **NUMBERS,
    "two by two": lambda text: " ".join(text[at : at + 2] for at in range(0, len(text), 2)),
    "as from abroad": lambda text: f"+33 {text[1:]}",
}
MAILS = {
    **ANY,
    "in capitals": str.upper,
    "as an address": lambda text: f"<mailto:{text}>",
    "quoted for the web": lambda text: quote(text, safe=""),
    "spelt out": lambda text: text.replace("@", " at ").replace(".", " dot "),
    "across two lines": lambda text: text.replace("@", "@\n"),
}
NAMES = {
    **ANY,
    "in capitals": str.upper,
    "without accents": lambda text: normalize("NFD", text).encode("ascii", "ignore").decode(),
    "across two lines": lambda text: text.replace(" ", "\n"),
    "with two spaces": lambda text: text.replace(" ", "  "),
    "last name first": lambda text: ", ".join(reversed(text.split(" ", 1))),
    "by its initial": lambda text: f"{text[0]}. {text.split(' ', 1)[1]}",
}


def _siren(digits: str) -> str:
    return f"{digits[:8]}{luhn(digits[:8])}"


def _siret(digits: str) -> str:
    body = f"{_siren(digits)}{digits[8:12]}"
    return f"{body}{luhn(body)}"


def _vat(digits: str) -> str:
    siren = _siren(digits)
    return f"FR{(12 + 3 * (int(siren) % 97)) % 97:02}{siren}"


def _nir(number: int, digits: str) -> str:
    body = f"{number % 2 + 1}{number + 50}{number % 12 + 1:02}75{digits[:3]}{digits[3:6]}"
    return f"{body}{97 - int(body) % 97:02}"


MADE: Mapping[str, Callable[[int, str], str]] = {
    "payment_card": lambda _, digits: f"4{digits[:14]}{luhn(f'4{digits[:14]}')}",
    "iban": lambda _, digits: iban("FR", digits[:21] + luhn(digits[:21])[0] + "7"),
    "nir": _nir,
    "email": lambda number, digits: f"person{digits[:5]}.{number}@example.org",
    "phone": lambda _, digits: f"06{digits[:8]}",
    "siren": lambda _, digits: _siren(digits),
    "siret": lambda _, digits: _siret(digits),
    "vat": lambda _, digits: _vat(digits),
    "passport": lambda number, digits: f"{digits[:2]}{chr(65 + number)}{chr(90 - number)}{digits[2:7]}",
    "identity_card": lambda _, digits: digits[:12],
    "": lambda number, _: f"{FIRST[number % 10]} {LAST[(number * 3 + number // 10) % 10]}",
}


def values(entity: str) -> Iterator[str]:
    """Some identifiers of a kind, the same in every run."""
    chance = random.Random(entity)
    for number in range(VALUES):
        yield MADE[entity](number, "".join(chance.choice("0123456789") for _ in range(24)))


def spellings(entity: str) -> Mapping[str, Callable[[str], str]]:
    """Every way in which identifiers of this kind are spelt here."""
    return {"email": MAILS, "phone": PHONES, "": NAMES}.get(entity, NUMBERS)


def occurrences(entity: str) -> Iterator[tuple[str, str, str]]:
    """An identifier, the way it is spelt, and a text that holds it so."""
    for value in values(entity):
        for way, spell in spellings(entity).items():
            for sentence in SENTENCES:
                yield value, way, sentence.format(spell(value))
