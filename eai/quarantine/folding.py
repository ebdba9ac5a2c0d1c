"""One spelling for what looks alike, and where in the given text each character of it came from."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eai.quarantine.confusables import LATIN_LOOKALIKES
from eai.quarantine.invisibles import is_invisible

_DROPPED = frozenset({"Mn", "Me", "Cf"})


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` in plain letters of the Latin alphabet as far as they look like them, in the same case."""

    text: str
    _origins: NDArray[np.intp] | None = None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The part of the given text that `[start, end)` of this one, which is not empty, was made from."""
        if self._origins is None:
            return start, end
        return int(self._origins[start]), int(self._origins[end - 1]) + 1


def fold(text: str, *, unseen: str = "") -> Folded:
    """Compatibility forms, accents and lookalikes as plain letters, each invisible character as `unseen`."""
    if text.isascii():
        return Folded(text)
    folds = {ord(sign): _fold(sign, unseen) for sign in set(text) if not sign.isascii()}
    widths = {code: len(folded) for code, folded in folds.items() if len(folded) != 1}
    return Folded(text.translate(folds), _origins(text, widths) if widths else None)


@lru_cache(maxsize=1 << 16)
def _fold(sign: str, unseen: str) -> str:
    if is_invisible(sign):
        return unseen
    parts = unicodedata.normalize("NFKD", LATIN_LOOKALIKES.get(sign, sign))
    return "".join(
        LATIN_LOOKALIKES.get(part, part) for part in parts if unicodedata.category(part) not in _DROPPED
    )


def _origins(text: str, widths: dict[int, int]) -> NDArray[np.intp]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    table = np.ones(int(codes.max()) + 1, np.int8)
    table[list(widths)] = list(widths.values())
    return np.repeat(np.arange(len(codes)), table[codes])
