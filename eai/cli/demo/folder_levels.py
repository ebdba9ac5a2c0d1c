"""Which level the name of a folder gives, in English or French. What only looks like one is read strictly."""

import re
import unicodedata
from difflib import SequenceMatcher

from eai.access.classification import Classification, highest

_BY_WORD = {
    "public": Classification.PUBLIC,
    "publique": Classification.PUBLIC,
    "internal": Classification.INTERNAL,
    "interne": Classification.INTERNAL,
    "confidential": Classification.CONFIDENTIAL,
    "confidentiel": Classification.CONFIDENTIAL,
    "restricted": Classification.RESTRICTED,
    "restreint": Classification.RESTRICTED,
    "secret": Classification.SECRET,
}
_CLOSING = {word: level for word, level in _BY_WORD.items() if level.exceeds(Classification.INTERNAL)}
_OPENING = "publi"
_PART = re.compile(r"[^\W\d_]+")
_ALIKE = 0.85


def level_of(name: str) -> Classification | None:
    """The level that a folder of this name gives to its files; None where the name has nothing of one.

    A name that is not a level's but holds one, or nearly does (`HR-confidential`, `confidental`), gives
    that level, and of several the strictest. Only `public` alone opens anything.
    """
    folded = _folded(name)
    if folded in _BY_WORD:
        return _BY_WORD[folded]
    held = [level for word, level in _CLOSING.items() if _holds(folded, word)]
    return highest(*held) if held else None


def remark_on(name: str) -> str | None:
    """What to tell about a name that looks like a level's and is none; None for every other."""
    folded = _folded(name)
    if folded in _BY_WORD:
        return None
    level = level_of(name)
    if level is not None:
        return f"is no level's name, and is taken as {level} to be safe"
    if _OPENING in folded:
        return "is not taken as public: only a folder named just that is"
    return None


def _folded(name: str) -> str:
    parts = unicodedata.normalize("NFKD", name.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part)).strip()


def _holds(folded: str, word: str) -> bool:
    return word in folded or any(
        SequenceMatcher(None, part, word).ratio() >= _ALIKE for part in _PART.findall(folded)
    )
