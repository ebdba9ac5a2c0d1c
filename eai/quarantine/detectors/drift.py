"""Another text under the name of one that people know: drift from the text that a steward has let pass.

What is compared are rows of three words. Numbers are left out, so that a new price list is none; and so are
case, accents, lookalikes and what is invisible.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from eai.quarantine.folding import fold
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.rows import ROW, WORD_WITHOUT_DIGITS, rows
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Former, Specimen

_FEWEST_ROWS = 8
_DEPARTED, _REPLACED = 0.5, 0.9
_LEFT = 0.1
"""The share of the former text under which what is left of it is a heading."""


class Drift:
    """Finds how much of a text is not in the one whose place it takes.

    What was taken away is no drift by itself, and neither is another order: nobody reads a word then that was
    not let pass. What is repeated counts once. Texts of fewer than ten words are not compared.
    """

    name = "drift"
    version = 2

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """The longest part that is new, where most of the text is."""
        if (former := specimen.former) is None:
            return
        folded = fold(former.instead)
        found, before = rows(_words(folded.text)), rows(_words(fold(former.text).text))
        is_new = ~np.isin(found, before)
        distinct = len(np.unique(found))
        if distinct < _FEWEST_ROWS:
            return
        new = len(np.unique(found[is_new])) / distinct
        left = len(np.intersect1d(found, before)) / max(len(np.unique(before)), 1)
        if (told := _told(former, new, left)) is not None:
            against = sha256(former.text.encode("utf-8", "surrogatepass")).hexdigest()
            yield Mark(*told, *folded.origin(*_longest(folded.text, is_new)), against=against)


def _told(former: Former, new: float, left: float) -> tuple[Reason, Severity] | None:
    is_other = new >= _REPLACED or (new >= _DEPARTED and left < _LEFT)
    if former.is_approved and is_other:
        return Reason.REPLACES_APPROVED, Severity.HIGH
    if former.is_approved and new >= _DEPARTED:
        return Reason.DEPARTS_FROM_APPROVED, Severity.MEDIUM
    # Nobody has said that the text before was to be relied on.
    return (Reason.REPLACES_SERVED, Severity.LOW) if new >= _REPLACED else None


def _words(text: str) -> Sequence[str]:
    return [word.casefold() for word in WORD_WITHOUT_DIGITS.findall(text)]


def _longest(text: str, is_new: NDArray[np.bool_]) -> tuple[int, int]:
    """Where the longest unbroken run of new rows stands."""
    edges = np.flatnonzero(np.diff(is_new, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    first, last = int(starts[longest]), int(ends[longest]) + ROW - 2
    places = list(islice(WORD_WITHOUT_DIGITS.finditer(text), first, last + 1, last - first))
    return places[0].start(), places[-1].end()


DRIFT = Drift()
