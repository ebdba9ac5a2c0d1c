"""Words that are spelled with letters of several alphabets which look alike."""

import re
from collections.abc import Iterator
from itertools import pairwise

from eai.quarantine.clusters import Span, clusters, extent
from eai.quarantine.confusables import LATIN_LOOKALIKES, MIXED_IN
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_FOREIGN = re.compile(f"[{''.join(sorted(MIXED_IN))}]")
_NEAR = 200
_MANY_NEAR = 3


class Homoglyphs:
    """Finds words that a reader takes for Latin ones and a search does not."""

    name = "homoglyphs"
    version = 1

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Mixed words, those that stand close together as one."""
        text = specimen.text
        if text.isascii():
            return
        words = ((start, end) for start, end in _foreign_words(text) if _is_mixed(text[start:end]))
        for group in clusters(words, _NEAR):
            severity = Severity.HIGH if len(group) >= _MANY_NEAR else Severity.MEDIUM
            yield Mark(Reason.MIXED_ALPHABETS, severity, *extent(group))


def _foreign_words(text: str) -> Iterator[Span]:
    """The words that hold such a letter: a text holds few, and the others need no look."""
    end = 0
    while found := _FOREIGN.search(text, end):
        start = found.start()
        while start > end and text[start - 1].isalpha():
            start -= 1
        end = found.end()
        while end < len(text) and text[end].isalpha():
            end += 1
        yield start, end


def _is_mixed(word: str) -> bool:
    if not all(sign.isascii() or sign in LATIN_LOOKALIKES for sign in word):
        return False
    foreign = [sign in MIXED_IN for sign in word]
    changes = [pair for pair in pairwise(foreign) if pair[0] != pair[1]]
    # One change from Latin is an ending, as when a word is declined; a word without any is not mixed.
    return bool(changes) and changes != [(False, True)]


HOMOGLYPHS = Homoglyphs()
