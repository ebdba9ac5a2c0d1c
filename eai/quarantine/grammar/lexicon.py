"""Roles of words, each combination of them as one character, so that a text becomes a short string."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from eai.quarantine.grammar.english import ENGLISH
from eai.quarantine.grammar.french import FRENCH

OTHER, CAPITALS, BOUNDARY = "_", "A", "|"
"""A word without a role, one in capitals without a role, and the end of a sentence."""

_ENDINGS = {
    "er": "e es ez er ons eras erez era ant",
    "ir": "is it issez ir issons iras irez is",
    "vre": "s t vez vre vons vras vrez",
    "dre": "ds d dez dre dons dras drez s ts gnez",
    "s": "s t vez sez ez re",
    "yer": "yer yez yons",
}
_FIRST_CODE = 0x4E00
_LEET = str.maketrans("013457@$", "oleastas")
_LEET_I = str.maketrans("013457@$", "oieastas")
_FAMILY = "gpt"
_SHORTEST_SCRAMBLED = 6
_SHORTEST_NAME = 3


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Every known word's character, and for each role the characters of the words that have it."""

    codes: Mapping[str, str]
    roles: Mapping[str, str]
    _scrambled: Mapping[str, str]

    def code(self, token: str) -> str:
        """The character of one token as it stands in the text."""
        if not token[0].isalnum():
            return self.codes.get(token, BOUNDARY)
        # Some words are names in capitals only.
        word = token.lower()
        known = (self.codes.get(token) if token.isupper() else None) or self.codes.get(word)
        if known is None and word.endswith(_FAMILY):
            return self.codes[_FAMILY]
        return known or self._disguised(word) or (CAPITALS if _is_name(token) else OTHER)

    def _disguised(self, word: str) -> str | None:
        """Words with digits for letters, and with the letters between the first and the last mixed up."""
        if not word.isalpha():
            return self.codes.get(word.translate(_LEET)) or self.codes.get(word.translate(_LEET_I))
        return self._scrambled.get(_signature(word)) if len(word) >= _SHORTEST_SCRAMBLED else None


@cache
def lexicon() -> Lexicon:
    """The words of all languages together."""
    roles: dict[str, set[str]] = {}
    for language in (ENGLISH, FRENCH):
        for role, words in language.items():
            for word in _forms(words.split()):
                roles.setdefault(word, set()).add(role)
    kinds = sorted({frozenset(of_word) for of_word in roles.values()}, key=sorted)
    characters = {kind: chr(_FIRST_CODE + number) for number, kind in enumerate(kinds)}
    codes = {word: characters[frozenset(of_word)] for word, of_word in roles.items()}
    names = {role for kind in kinds for role in kind}
    by_role = {"caps": CAPITALS} | {
        name: "".join(characters[kind] for kind in kinds if name in kind) for name in names
    }
    long = {word: code for word, code in codes.items() if len(word) >= _SHORTEST_SCRAMBLED}
    return Lexicon(codes, by_role, {_signature(word): code for word, code in long.items()})


def _forms(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        stem, _, ending = word.partition("/")
        yield from (stem + form for form in _ENDINGS[ending].split()) if ending else (word,)


def _is_name(token: str) -> bool:
    return len(token) >= _SHORTEST_NAME and token.isalpha() and token.isupper()


def _signature(word: str) -> str:
    return word[0] + "".join(sorted(word[1:-1])) + word[-1]
