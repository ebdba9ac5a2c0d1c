"""Another text under the name of one that people know: drift from the text that a steward has let pass.

What is compared are rows of three words. Numbers are left out, so that a new price list is none; and so are
case, accents, lookalikes and what is invisible.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from eai.quarantine.folding import fold
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.rows import ROW, rows
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Former, Specimen

_WORD = re.compile(r"[^\W\d_]+")
_FEWEST_ROWS = 8
_DEPARTED, _REPLACED = 0.5, 0.9


class Drift:
    """Finds how much of a text is not in the one whose place it takes.

    What was taken away is no drift, and neither is another order: nobody reads a word then that was not let
    pass. What is repeated counts once. Texts of fewer than ten words are not compared.
    """

    name = "drift"
    version = 1

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """The longest part that is new, where most of the text is."""
        if (former := specimen.former) is None:
            return
        folded = fold(former.instead)
        found = rows(_words(folded.text))
        is_new = ~np.isin(found, rows(_words(fold(former.text).text)))
        distinct = len(np.unique(found))
        if distinct < _FEWEST_ROWS:
            return
        share = len(np.unique(found[is_new])) / distinct
        if (told := _told(former, share)) is not None:
            yield Mark(*told, *folded.origin(*_longest(folded.text, is_new)))


def _told(former: Former, share: float) -> tuple[Reason, Severity] | None:
    if former.is_approved and share >= _REPLACED:
        return Reason.REPLACES_APPROVED, Severity.HIGH
    if former.is_approved and share >= _DEPARTED:
        return Reason.DEPARTS_FROM_APPROVED, Severity.MEDIUM
    # Nobody has said that the text before was to be relied on.
    return (Reason.REPLACES_SERVED, Severity.LOW) if share >= _REPLACED else None


def _words(text: str) -> Sequence[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _longest(text: str, is_new: NDArray[np.bool_]) -> tuple[int, int]:
    """Where the longest unbroken run of new rows stands."""
    edges = np.flatnonzero(np.diff(is_new, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    first, last = int(starts[longest]), int(ends[longest]) + ROW - 2
    places = list(islice(_WORD.finditer(text), first, last + 1, last - first))
    return places[0].start(), places[-1].end()


DRIFT = Drift()
