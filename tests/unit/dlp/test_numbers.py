"""Cards, accounts and social security numbers, in the forms that English and French texts have them."""

# ruff: noqa: RUF001 - signs that look like others are what is tested here

import random
from collections.abc import Callable, Sequence

import pytest

from tests.unit.dlp.finding import entities, found

CARDS = ("4539 1488 0343 6467", "5555 5555 5555 4444", "4111 1111 1111 1111", "6011 1111 1111 1117")


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111.1111.1111.1111",
        "4111\u00a01111\u00a01111\u00a01111",
        "4111\u20111111\u20111111\u20111111",
        "4111 1111\n1111 1111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "41111\u200b1111\u20601111111",
        "４１１１ １１１１ １１１１ １１１１",
        "4\ufe0f\u20e3111 1111 1111 1111",
        "٤١١١ ١١١١ ١١١١ ١١١١",
        "5555555555554444",
        "2223 0031 2200 3222",
        "3782 822463 10005",
        "378282246310005",
        "3056 930902 5904",
        "6011 1111 1111 1117",
        "3530111333300000",
        "6200 0000 0000 0005",
        "4000 0000 0000 0000 006",
    ],
)
@pytest.mark.parametrize(
    "sentence",
    ["Please charge card {}, expiry 12/27.", "Carte n° {} (Visa), cryptogramme 123.", "({})", "{}"],
)
def test_a_card_number_is_found_whole(number: str, sentence: str) -> None:
    assert found(sentence.format(number)) == [("payment_card", number)]


def test_a_card_number_is_found_among_other_numbers() -> None:
    assert found("Order 12 4111 1111 1111 1111 2 items") == [("payment_card", "4111 1111 1111 1111")]
    assert found("2027 4111 1111 1111 1111 2027") == [("payment_card", "4111 1111 1111 1111")]
    assert found("12 4111111111111111 42") == [("payment_card", "4111111111111111")]
    listed = "4111 1111 1111 1111\n5555 5555 5555 4444\n3782 822463 10005\n"
    assert [number for _, number in found(listed * 20)] == listed.splitlines() * 20


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "1111111111111117",
        "Order 202411300048291234567",
        "+33 6 12 34 56 78",
        "06.12.34.56.78",
        "SIRET 380 129 866 00014",
        "SIRET 38012986600014",
        "IMEI 356938035643809",
        "2024-11-30 12:45:33.123456",
        "ISBN 978-2-07-036822-8",
        "4111 1111 1111 1111 1111 1111 1111 1111 1111 1111",
        "0.5155559778213501",
        "[-5.155559778213501, 5.155559778213501]",
        "utf16le 4039581.5           655483.16\n",
        "22/03/2024 01/04/2024",
        "IMG_20240315_142233",
        "https://x.example/2024/11/30/40395815/65548316",
        "snake_case_4039_5815_6554_8310",
        "4111/1111 1111/1111",
    ],
)
def test_other_numbers_are_no_cards(text: str) -> None:
    assert "payment_card" not in entities(text)


def test_a_table_of_numbers_holds_no_cards() -> None:
    table = "\n".join(
        " ".join(str((row * 7919 + column * 104729) % 9000 + 1000) for column in range(9))
        for row in range(500)
    )
    assert entities(table) == set()


@pytest.mark.parametrize("sign", [" ", "\t", "-", "\u00a0"])
@pytest.mark.parametrize(
    "others", [("", ""), ("2027 ", ""), ("", " 2027"), ("2019 2020 2021 ", " 2022 2023")]
)
@pytest.mark.parametrize("cards", [CARDS[:3], CARDS])
def test_three_cards_and_more_are_found_in_one_row(
    cards: Sequence[str], others: tuple[str, str], sign: str
) -> None:
    row = " ".join(cards).join(others).replace(" ", sign)
    assert found(row) == [("payment_card", card.replace(" ", sign)) for card in cards]


@pytest.mark.parametrize("between", ["\t", "\n", "  ", " | ", " ; "])
@pytest.mark.parametrize("columns", [5, 8, 20])
def test_a_card_is_found_beside_columns_that_something_else_parts(columns: int, between: str) -> None:
    years = between.join(str(2001 + column) for column in range(columns))
    assert found(f"{CARDS[0]}{between}{years}") == [("payment_card", CARDS[0])]
    assert found(f"{years}{between}{CARDS[0]}") == [("payment_card", CARDS[0])]
    assert found(f"{years}{between}{CARDS[0]}{between}{years}") == [("payment_card", CARDS[0])]


@pytest.mark.parametrize(
    "cell",
    [
        lambda draw: draw.randint(1_000, 9_999),
        lambda draw: draw.randint(1_900, 2_100),
        lambda draw: int(10 ** draw.uniform(3, 3.999)),
    ],
    ids=["numbers", "years", "counts"],
)
@pytest.mark.parametrize("sign", [" ", "\t"])
def test_tables_of_years_and_counts_hold_no_cards(sign: str, cell: Callable[[random.Random], int]) -> None:
    draw = random.Random("tables")
    for columns in range(9, 25):
        rows = (sign.join(str(cell(draw)) for _ in range(columns)) for _ in range(50))
        assert entities("\n".join(rows)) == set()


@pytest.mark.parametrize(
    "number",
    [
        "FR76 3000 6000 0112 3456 7890 189",
        "FR7630006000011234567890189",
        "fr7630006000011234567890189",
        "FR76-3000-6000-0112-3456-7890-189",
        "FR76\u00a03000\u00a06000\u00a00112\u00a03456\u00a07890\u00a0189",
        "ＦＲ７６ 3000 6000 0112 3456 7890 189",
        "F R 7 6 3 0 0 0 6 0 0 0 0 1 1 2 3 4 5 6 7 8 9 0 1 8 9",
        "FR76 3000\n6000 0112\n3456 7890 189",
        "FR76\u200b30006000\u200b01123456\u200b7890189",
        "DE89 3704 0044 0532 0130 00",
        "GB29 NWBK 6016 1331 9268 19",
        "gb29nwbk60161331926819",
        "BE68 5390 0754 7034",
        "CH93 0076 2011 6238 5295 7",
        "MC58 1122 2000 0101 2345 6789 030",
        "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
        "NO93 8601 1117 947",
        "MA64 0115 1900 0001 2050 0053 4921",
    ],
)
@pytest.mark.parametrize(
    "sentence", ["Wire it to {} today.", "IBAN : {} — merci", "IBAN{}BIC", "Virement au compte {}."]
)
def test_an_account_number_is_found_whole(number: str, sentence: str) -> None:
    assert ("iban", number) in found(sentence.format(number))


@pytest.mark.parametrize(
    "text",
    [
        "FR77 3000 6000 0112 3456 7890 189",
        "FR76/3000/6000_0112/3456/7890/189",
        "FR76 3000 6000 0112",
        "XX76 3000 6000 0112 3456 7890 189",
        "no 93 8601 1117 947",
        "No 93 8601 1117 947",
    ],
)
def test_what_only_begins_like_an_account_number_is_none(text: str) -> None:
    assert "iban" not in entities(text)


@pytest.mark.parametrize(
    "number",
    [
        "1 85 05 78 006 084 91",
        "185057800608491",
        "1850578006084 91",
        "1.85.05.78.006.084.91",
        "1\u00a085\u00a005\u00a078\u00a0006\u00a0084\u00a091",
        "１８５０５７８００６０８４９１",
        "1 8 5 0 5 7 8 0 0 6 0 8 4 9 1",
        "1850\u200b578006\u200b08491",
        "2 76 06 2A 004 001 {corsica}",
        "2 76 06 2b 004 001 {upper}",
        "2 76 33 971 05 001 {overseas}",
        "{unknown_month}",
    ],
)
@pytest.mark.parametrize("sentence", ["NIR : {}.", "N° de sécurité sociale {} (assuré)", "Her NIR is {}"])
def test_a_social_security_number_is_found_whole(number: str, sentence: str) -> None:
    # The key is 97 less the rest of the number by 97, with 19 for 2A and 18 for 2B.
    keys = {
        "corsica": f"{97 - 2760619004001 % 97:02}",
        "upper": f"{97 - 2760618004001 % 97:02}",
        "overseas": f"{97 - 2763397105001 % 97:02}",
    }
    keys["unknown_month"] = f"1 85 99 78 006 084 {97 - 1859978006084 % 97:02}"
    written = number.format(**keys)
    assert found(sentence.format(written)) == [("nir", written)]


@pytest.mark.parametrize(
    "text",
    [
        "1 85 05 78 006 084 92",
        "5 85 05 78 006 084 91",
        "1 85 13 78 006 084 91",
        "140295442680496",
        "185050006084 91",
    ],
)
def test_a_number_with_another_key_or_form_is_no_social_security_number(text: str) -> None:
    assert "nir" not in entities(text)
