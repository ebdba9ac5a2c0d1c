"""Entities with valid check digits, and sentences of either language that people write them in."""

import random
import string
from collections.abc import Callable, Mapping, Sequence

Draw = random.Random
_SIGNS = {"n": string.digits, "a": string.ascii_uppercase, "c": string.ascii_uppercase + string.digits}
_ACCOUNTS = {
    "FR": "nnnnnnnnnncccccccccccnn", "DE": "n" * 18, "GB": "aaaa" + "n" * 14, "BE": "n" * 12,
    "ES": "n" * 20, "IT": "a" + "n" * 10 + "c" * 12, "NL": "aaaa" + "n" * 10, "LU": "nnn" + "c" * 13,
}  # fmt: skip
_SCHEMES = (
    ("4", 16),
    ("51", 16),
    ("55", 16),
    ("2221", 16),
    ("34", 15),
    ("37", 15),
    ("6011", 16),
    ("3528", 16),
)
_TRAVEL = (7, 3, 1)


def _digits(draw: Draw, count: int) -> str:
    return "".join(draw.choices(string.digits, k=count))


def _luhn(body: str) -> str:
    doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(body))]
    return str(-sum(each // 10 + each % 10 for each in doubled) % 10)


def _travel(signs: str) -> str:
    values = [0 if sign == "<" else int(sign, 36) for sign in signs]
    return str(sum(value * _TRAVEL[place % 3] for place, value in enumerate(values)) % 10)


def _grouped(draw: Draw, number: str, *sizes: int) -> str:
    sign = draw.choice(("", " ", "\u00a0", "-", "."))
    groups, start = [], 0
    for size in sizes:
        groups.append(number[start : start + size])
        start += size
    return sign.join(groups)


def card(draw: Draw) -> str:
    """As it stands on the card."""
    prefix, length = draw.choice(_SCHEMES)
    body = prefix + _digits(draw, length - len(prefix) - 1)
    sizes = (4, 6, 5) if length == 15 else (4, 4, 4, 4)
    return _grouped(draw, body + _luhn(body), *sizes)


def iban(draw: Draw) -> str:
    """In one piece, or in fours."""
    country = draw.choice(sorted(_ACCOUNTS))
    account = "".join(draw.choice(_SIGNS[kind]) for kind in _ACCOUNTS[country])
    number = int("".join(str(int(sign, 36)) for sign in f"{account}{country}00"))
    whole = f"{country}{98 - number % 97:02}{account}"
    return _grouped(draw, whole, *[4] * -(-len(whole) // 4))


def nir(draw: Draw) -> str:
    """In its usual groups, or in one piece."""
    place = draw.choice([f"{number:02}" for number in range(1, 96) if number != 20] + ["2A", "2B"])
    birth = f"{draw.choice('12')}{_digits(draw, 2)}{draw.randint(1, 12):02}"
    rest = f"{draw.randint(1, 990):03}{draw.randint(1, 999):03}"
    number = int(birth + {"2A": "19", "2B": "18"}.get(place, place) + rest)
    return _grouped(draw, f"{birth}{place}{rest}{97 - number % 97:02}", 1, 2, 2, 2, 3, 3, 2)


def _siren(draw: Draw) -> str:
    body = _digits(draw, 8)
    return body + _luhn(body)


def siren(draw: Draw) -> str:
    """In threes."""
    return _grouped(draw, _siren(draw), 3, 3, 3)


def siret(draw: Draw) -> str:
    """The company's number, and the establishment's."""
    body = _siren(draw) + f"{draw.randint(1, 999):04}"
    return _grouped(draw, body + _luhn(body), 3, 3, 3, 5)


def vat(draw: Draw) -> str:
    """Of France, Belgium or Luxembourg."""
    company = _siren(draw)
    belgian, luxembourgish = f"0{draw.randint(2_000_000, 9_999_999)}", _digits(draw, 6)
    return draw.choice(
        (
            f"FR{(12 + 3 * (int(company) % 97)) % 97:02}{company}",
            f"FR {(12 + 3 * (int(company) % 97)) % 97:02} {company[:3]} {company[3:6]} {company[6:]}",
            f"BE{belgian}{97 - int(belgian) % 97:02}",
            f"LU{luxembourgish}{int(luxembourgish) % 89:02}",
        )
    )


def phone(draw: Draw) -> str:
    """French, British or American."""
    french = draw.choice("1234567") + _digits(draw, 8)
    american = [f"{draw.choice('23456789')}{_digits(draw, 2)}" for _ in range(2)]
    return draw.choice(
        (
            _grouped(draw, f"0{french}", 2, 2, 2, 2, 2),
            f"+33 {french[0]} {french[1:3]} {french[3:5]} {french[5:7]} {french[7:]}",
            f"+33{french}",
            f"020 7{_digits(draw, 3)} {_digits(draw, 4)}",
            f"+44 7{_digits(draw, 3)} {_digits(draw, 6)}",
            f"({american[0]}) {american[1]}-{_digits(draw, 4)}",
        )
    )


def email(draw: Draw) -> str:
    """Of a person."""
    names = ("jean.dupont", "ada", "m_martin", "élodie.petit", "contact+facture", "j-p.durand")
    return f"{draw.choice(names)}@{draw.choice(('exemple.fr', 'mail.example.org', 'société.example'))}"


def passport(draw: Draw) -> str:
    """A French number, whose word must stand before it, or the second line of any."""
    number = f"{_digits(draw, 2)}{''.join(draw.choices(string.ascii_uppercase, k=2))}{_digits(draw, 5)}"
    birth, expiry, personal = _date(draw), _date(draw), "<" * 14
    line = f"{number}{_travel(number)}FRA{birth}{_travel(birth)}F{expiry}{_travel(expiry)}{personal}0"
    return draw.choice((number, f"{line}{_travel(line[:10] + line[13:20] + line[21:])}"))


def identity_card(draw: Draw) -> str:
    """Twelve digits, as on cards until 2021, whose words must stand before it."""
    return _digits(draw, 12)


def _date(draw: Draw) -> str:
    return f"{draw.randint(30, 99)}{draw.randint(1, 12):02}{draw.randint(1, 28):02}"


def api_key(draw: Draw) -> str:
    """Of one of five issuers."""
    letters = string.ascii_letters + string.digits
    token = "".join(draw.choices(letters, k=36))
    return draw.choice((
        f"ghp_{token}", f"AKIA{''.join(draw.choices('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', k=16))}",
        f"glpat-{token[:20]}", f"sk_live_{token[:24]}",
        f"hf_{''.join(draw.choices(string.ascii_letters, k=34))}",
    ))  # fmt: skip


def private_key(draw: Draw) -> str:
    """A short one in PEM."""
    lines = ["".join(draw.choices(string.ascii_letters + string.digits + "+/", k=64)) for _ in range(3)]
    kind = draw.choice(("", "RSA ", "EC ", "OPENSSH "))
    return "\n".join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----"])


ENTITIES: Mapping[str, Callable[[Draw], str]] = {
    "payment_card": card, "iban": iban, "nir": nir, "siren": siren, "siret": siret, "vat": vat,
    "phone": phone, "email": email, "passport": passport, "identity_card": identity_card, "api_key": api_key,
    "private_key": private_key,
}  # fmt: skip

SENTENCES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "en": {
        "payment_card": ("Please charge card {} before Friday.", "Card number: {}, expiry 12/29."),
        "iban": ("Transfer the deposit to {}.", "Account {} is in use."),
        "nir": ("Her French social security number is {}.", "NIR {} was checked."),
        "siren": ("The company (SIREN {}) agreed.", "Registered as RCS Paris {}."),
        "siret": ("Establishment {} has moved.", "SIRET: {}"),
        "vat": ("VAT number {} on every invoice.", "Our VAT id is {}, as before."),
        "phone": ("Call {} after noon.", "Phone: {}, ask for Ada."),
        "email": ("Write to {} for details.", "Sent by {} on Monday."),
        "passport": ("Passport no. {} expires soon.", "His passport {} was copied."),
        "identity_card": ("Identity card no. {} was shown.", "ID card: {}"),
        "api_key": ("export TOKEN={} in the shell", "The key is {} for now."),
        "private_key": ("The key:\n{}\nKeep it.", "id_rsa holds\n{}\n"),
    },
    "fr": {
        "payment_card": ("Débitez la carte {} avant vendredi.", "Carte n° {}, expire fin 12/29."),
        "iban": ("Virement à faire sur le compte {}.", "RIB : {} (titulaire inchangé)."),
        "nir": ("Son numéro de sécurité sociale est {}.", "NIR : {}, vérifié."),
        "siren": ("La société, SIREN {}, a accepté.", "Immatriculée {} RCS Lyon."),
        "siret": ("L'établissement {} a déménagé.", "N° SIRET : {}"),
        "vat": ("TVA intracommunautaire : {}.", "Numéro de TVA {} sur la facture."),
        "phone": ("Appelez le {} après midi.", "Tél. : {}, demandez Ada."),
        "email": ("Écrivez à {} pour plus de détails.", "Envoyé par {} lundi."),
        "passport": ("Passeport n° {} bientôt périmé.", "Son passeport {} a été copié."),
        "identity_card": ("Carte nationale d'identité n° {} présentée.", "CNI : {}"),
        "api_key": ("export JETON={} dans le terminal", "La clé est {} pour l'instant."),
        "private_key": ("La clé :\n{}\nÀ garder.", "id_rsa contient\n{}\n"),
    },
}
