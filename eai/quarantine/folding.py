"""One spelling for what looks alike, and where in the given text each character of it came from."""

import unicodedata
from functools import lru_cache

from eai.kernel.respelled import Respelled
from eai.quarantine.confusables import LATIN_LOOKALIKES
from eai.quarantine.invisibles import is_invisible

_DROPPED = frozenset({"Mn", "Me", "Cf"})
_MODIFIER = "Lm"


def fold(text: str, *, unseen: str = "") -> Respelled:
    """Compatibility forms, accents and lookalikes as plain letters, each invisible character as `unseen`.

    Modifiers that stand for no letter, such as a low macron, are between words rather than in them.
    """
    if text.isascii():
        return Respelled(text)
    folds = {ord(sign): _fold(sign, unseen) for sign in set(text) if not sign.isascii()}
    return Respelled.of(text, folds)


@lru_cache(maxsize=1 << 16)
def _fold(sign: str, unseen: str) -> str:
    if is_invisible(sign):
        return unseen
    parts = unicodedata.normalize("NFKD", LATIN_LOOKALIKES.get(sign, sign))
    return "".join(
        LATIN_LOOKALIKES.get(part) or (" " if unicodedata.category(part) == _MODIFIER else part)
        for part in parts
        if unicodedata.category(part) not in _DROPPED
    )
