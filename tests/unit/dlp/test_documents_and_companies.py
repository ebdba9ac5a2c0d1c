"""Phones, companies, value added tax, passports and identity cards, as people and authorities write them."""

import pytest

from tests.unit.dlp.finding import entities, found


@pytest.mark.parametrize(
    "number",
    [
        "06 12 34 56 78", "06.12.34.56.78", "06-12-34-56-78", "0612345678", "+33 6 12 34 56 78",
        "+33 (0)6 12 34 56 78", "+33612345678", "0033 1 23 45 67 89", "(212) 555-1234", "212-555-1234",
        "+44 20 7946 0958", "020 7946 0958", "07700 900123", "+49 30 901820",
    ],
)  # fmt: skip
def test_a_telephone_number_is_found_whole(number: str) -> None:
    assert found(f"Tél. : {number}, le matin") == [("phone", number)]


@pytest.mark.parametrize(
    "text",
    [
        "version 1.23.456.7890", "10.1.2.3", "2024-01-02", "00 12 34 56 78", "le 06/12/2024", "page 0612",
        "order-0612345678-1", "0.0612345678",
    ],
)  # fmt: skip
def test_other_numbers_are_no_telephone_numbers(text: str) -> None:
    assert "phone" not in entities(text)


@pytest.mark.parametrize(
    "text", ["SIREN {}", "RCS Paris {}", "{} R.C.S. Paris", "{}\tRCS Paris", "n° Siren : {}."]
)
def test_a_company_is_known_by_the_word_beside_its_number(text: str) -> None:
    assert found(text.format("552 100 554")) == [("siren", "552 100 554")]
    assert found(text.format("552100554")) == [("siren", "552100554")]
    assert found(text.format("552 100 555")) == []


def test_nine_digits_alone_are_nothing() -> None:
    assert found("Commande 552 100 554") == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SIRET 380 129 866 00014", "380 129 866 00014"),
        ("380 129 866 00014", "380 129 866 00014"),
        ("siret n° 38012986600014", "38012986600014"),
        ("Siret : 380129866 00014", "380129866 00014"),
        ("La Poste : 356 000 000 00048", "356 000 000 00048"),
    ],
)
def test_an_establishment_is_known_by_its_groups_or_the_word(text: str, number: str) -> None:
    assert found(text) == [("siret", number)]


def test_fourteen_digits_that_pass_by_chance_are_nothing() -> None:
    assert found("Commande 38012986600014") == []
    assert found("SIRET 380 129 866 00015") == []


VALID = {
    "FR": "FR40303265045", "DE": "DE136695976", "BE": "BE0403019261", "IT": "IT00743110157",
    "LU": "LU15027442", "AT": "ATU13585627", "NL": "NL004495445B01", "PT": "PT501964843",
    "PL": "PL8567346215", "GB": "GB980780684", "DK": "DK13585628", "FI": "FI20774740", "SE": "SE123456789701",
}  # fmt: skip


@pytest.mark.parametrize("country", VALID)
def test_a_tax_number_passes_the_check_of_its_country(country: str) -> None:
    number = VALID[country]
    assert found(f"TVA : {number}.") == [("vat", number)]
    spaced = f"{number[:2]} {number[2:]}"
    assert found(f"VAT {spaced}") == [("vat", spaced)]
    place = next(at for at, sign in enumerate(number) if at > 3 and sign.isdigit())
    wrong = f"{number[:place]}{(int(number[place]) + 1) % 10}{number[place + 1 :]}"
    assert "vat" not in entities(f"TVA : {wrong}.")


def test_the_beginning_of_an_account_is_no_tax_number() -> None:
    assert found("FR76 3000 6000 0112 3456 7890 189") == [("iban", "FR76 3000 6000 0112 3456 7890 189")]


PASSPORT = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10"
CARD = "I<UTOD231458907<<<<<<<<<<<<<<<\n7408122F1204159UTO<<<<<<<<<<<6"
OLD_CARD = "IDFRABERTHIER<<<<<<<<<<<<<<<<<<<<<<<\n8806923102858CORINNE<<<<<<<6512068F6"


@pytest.mark.parametrize(
    ("entity", "lines"), [("passport", PASSPORT), ("identity_card", CARD), ("identity_card", OLD_CARD)]
)
def test_machine_readable_lines_are_found_by_their_checks(entity: str, lines: str) -> None:
    assert found(f"Scan:\n{lines}\n") == [(entity, lines)]
    in_cells = lines.replace("\n", "\t")
    assert found(f"Scan\t{in_cells}\t2027") == [(entity, in_cells)]
    *before, last = lines.split("\n")
    changed = "\n".join([*before, last.replace("7408122", "7408123").replace("6512068", "6512069")])
    assert entity not in entities(f"Scan:\n{changed}\n")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Passeport n° 12AB34567", ("passport", "12AB34567")),
        ("passport number 925665416.", ("passport", "925665416")),
        ("carte nationale d'identité n° 880692310285", ("identity_card", "880692310285")),
        ("carte d\u2019identité X4RTBPFW4", ("identity_card", "X4RTBPFW4")),
        ("CNI : 880692310285", ("identity_card", "880692310285")),
        ("identity card 880692310285", ("identity_card", "880692310285")),
    ],
)
def test_numbers_without_a_check_are_known_by_the_words_before_them(
    text: str, wanted: tuple[str, str]
) -> None:
    assert found(text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "Passports are renewed in 2026.",
        "Identity cards: see page 12.",
        "12AB34567 parts",
        "airport 925665416",
    ],
)
def test_words_without_a_number_and_numbers_without_the_word_are_nothing(text: str) -> None:
    assert entities(text) & {"passport", "identity_card"} == set()
