"""From words to terms: stems, marked with their language."""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence

import Stemmer

from eai.knowledge.lexical.language import Language
from eai.knowledge.lexical.stop_words import STOP_WORDS
from eai.knowledge.lexical.words import words

_ALGORITHMS = {Language.ENGLISH: "english", Language.FRENCH: "french"}
_FEMININE = ("ee", "ees")
_PREFIXES = {language: f"{language.value}:" for language in Language}
# A stemmer keeps state inside its calls: each thread has its own.
_thread = threading.local()


def analyse_document(text: str, language: Language) -> Counter[str]:
    """How often each term occurs in a passage; the sum of the counts is its length."""
    return Counter(_terms(words(text), language))


def analyse_query(text: str) -> Counter[str]:
    """The terms that may find passages of any language, since a question's own is unknown.

    A stop word of the language the question seems to be in (the one with most stop words in it) is
    dropped for all languages: the French `pour` of a French question must not look for English
    `pour`. A question made only of stop words keeps them.
    """
    asked = words(text)
    dropped = _apparent_stop_words(asked)
    terms: Counter[str] = Counter()
    for language in Language:
        ignored = dropped | STOP_WORDS[language]
        terms.update(_terms([word for word in asked if word not in ignored], language))
    return terms or Counter(term for language in Language for term in _terms(asked, language))


def _apparent_stop_words(asked: Sequence[str]) -> frozenset[str]:
    english, french = STOP_WORDS[Language.ENGLISH], STOP_WORDS[Language.FRENCH]
    lead = sum((word in english) - (word in french) for word in asked)
    if lead == 0:
        return frozenset()
    return english if lead > 0 else french


def _terms(found: Sequence[str], language: Language) -> Iterable[str]:
    prefix = _PREFIXES[language]
    return [prefix + stem for stem in _stems(found, language)]


def _stems(found: Sequence[str], language: Language) -> Sequence[str]:
    if language is Language.OTHER:
        return found
    if language is Language.FRENCH:
        found = [_masculine(word) if word.endswith(_FEMININE) else word for word in found]
    stems: list[str] = _stemmer(language).stemWords(found)
    return stems


def _masculine(word: str) -> str:
    # The stemmer knows `employée` by its accent, which folding took: people search without accents.
    return word.removesuffix("s")[:-1]


def _stemmer(language: Language) -> Stemmer.Stemmer:
    try:
        return _thread.__dict__[language]
    except KeyError:
        stemmer = _thread.__dict__[language] = Stemmer.Stemmer(_ALGORITHMS[language])
        return stemmer
