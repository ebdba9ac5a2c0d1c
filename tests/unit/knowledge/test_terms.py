import errno
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.knowledge.lexical import (
    Language,
    analyse_document,
    analyse_query,
    detect_language,
    fold,
    language_of,
    words,
)
from eai.knowledge.lexical.language import _identifier


def test_a_french_sentence_becomes_stems_without_elisions_or_accents() -> None:
    text = "Les salariées n’ont pas été remboursées : l’indemnité de 1 500 € reste due jusqu’à l’été."  # noqa: RUF001
    assert analyse_document(text, Language.FRENCH) == {
        "fr:le": 1,
        "fr:salar": 1,
        "fr:ont": 1,
        "fr:pas": 1,
        "fr:ete": 2,
        "fr:rembours": 1,
        "fr:indemnit": 1,
        "fr:de": 1,
        "fr:1": 1,
        "fr:500": 1,
        "fr:rest": 1,
        "fr:du": 1,
        "fr:a": 1,
    }


def test_an_english_sentence_becomes_stems_without_contractions() -> None:
    text = "Employees' travel costs are reimbursed within 30 days; the company's e-mail isn't enough."
    assert analyse_document(text, Language.ENGLISH) == {
        "en:employe": 1,
        "en:travel": 1,
        "en:cost": 1,
        "en:are": 1,
        "en:reimburs": 1,
        "en:within": 1,
        "en:30": 1,
        "en:day": 1,
        "en:the": 1,
        "en:compani": 1,
        "en:e": 1,
        "en:mail": 1,
        "en:isn": 1,
        "en:enough": 1,
    }


def test_another_language_keeps_its_words_folded() -> None:
    assert analyse_document("Der Vertrag beginnt im März. Straße 5", Language.OTHER) == {
        "xx:der": 1,
        "xx:vertrag": 1,
        "xx:beginnt": 1,
        "xx:im": 1,
        "xx:marz": 1,
        "xx:strasse": 1,
        "xx:5": 1,
    }


def test_a_question_is_analysed_in_every_language_without_its_stop_words() -> None:
    assert analyse_query("Quel est le délai de remboursement pour un employé ?") == {
        "en:delai": 1,
        "en:rembours": 1,
        "en:employ": 1,
        "fr:del": 1,
        "fr:rembours": 1,
        "fr:employ": 1,
        "xx:delai": 1,
        "xx:remboursement": 1,
        "xx:employe": 1,
    }


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    asked = analyse_query("Who is it?")
    assert set(asked) >= {"en:who", "en:is", "en:it"}
    assert asked.keys() & analyse_document("It is who we thought it was.", Language.ENGLISH).keys()


def test_a_question_without_words_has_no_terms() -> None:
    assert analyse_query(" ?! … ") == {}


@pytest.mark.parametrize(
    "question", ["congés payés des salariées", "conges payes des salariees", "CONGÉS PAYÉS SALARIÉ"]
)
def test_a_question_finds_the_french_document_however_it_is_spelt(question: str) -> None:
    document = analyse_document("Le congé payé de la salariée", Language.FRENCH)
    assert {"fr:cong", "fr:pay", "fr:salar"} <= document.keys() & analyse_query(question).keys()


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ÉTÉ Œuvre Straße Łódź ÆSIR", "ete oeuvre strasse lodz aesir"),
        ("ﬁnance ＡＢＣ１２ x²", "finance abc12 x2"),  # noqa: RUF001
        ("l’eau", "l'eau"),  # noqa: RUF001
        ("한국어 が", "한국어 が"),
    ],
)
def test_folding_gives_one_spelling(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_hyphens_and_underscores_separate_and_digits_stay() -> None:
    assert words("INC-2024-017 max_file week-end B2B 10h30") == [
        *("inc", "2024", "017"),
        *("max", "file", "week", "end", "b2b", "10h30"),
    ]


def test_a_run_of_letters_without_end_is_cut() -> None:
    assert [len(word) for word in words("a" * 130)] == [64, 64, 2]


@given(st.text())
def test_any_text_can_be_analysed_and_folding_is_stable(text: str) -> None:
    assert words(" ".join(words(text))) == words(text)
    for language in Language:
        assert all(term.startswith(f"{language.value}:") for term in analyse_document(text, language))
    assert all(count > 0 for count in analyse_query(text).values())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The notice period is three months for managers.", Language.ENGLISH),
        ("Le préavis est de trois mois pour les cadres.", Language.FRENCH),
        ("Contrat de prestation", Language.FRENCH),
        ("Annual report", Language.ENGLISH),
        ("Il contratto inizia il primo gennaio e dura due anni.", Language.OTHER),
        ("Die Kündigungsfrist beträgt drei Monate.", Language.OTHER),
        ("日本語の文章です。", Language.OTHER),
    ],
)
def test_the_language_of_a_document_is_detected(text: str, language: Language) -> None:
    assert detect_language(text) is language


def test_the_first_text_needs_no_room_on_the_disk_for_temporary_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    _identifier.cache_clear()
    assert detect_language("Les remboursements sont versés dans la semaine.") is Language.FRENCH


@pytest.mark.parametrize(
    ("declared", "language"),
    [("fr", "fr"), ("fr-CA", "fr"), ("EN_us", "en"), ("de", "xx"), ("", "xx"), ("french", "xx")],
)
def test_a_declared_language_is_believed(declared: str, language: str) -> None:
    assert language_of("The notice period is three months.", declared) == language


def test_without_a_declaration_the_language_is_detected() -> None:
    assert language_of("Le préavis est de trois mois pour les cadres.") is Language.FRENCH


def test_threads_do_not_disturb_each_other() -> None:
    text = "Les remboursements des déplacements professionnels sont effectués chaque mois. " * 20
    expected = analyse_document(text, Language.FRENCH)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: analyse_document(text, Language.FRENCH), range(50)))
    assert found == [expected] * 50
