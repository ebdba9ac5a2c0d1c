"""Characters without width: in rows, inside words, and control characters."""

import re
from collections.abc import Iterator, Sequence

from eai.quarantine.clusters import Span, clusters, extent
from eai.quarantine.invisibles import is_invisible
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.scripts import is_emoji_part, is_unspaced, needs_joiners
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a"
)
_RUN = re.compile(f"[{_UNSEEN}]++")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]++")
# Concealed, black on black, erased, or written over.
_HIDING_CONTROLS = re.compile("\x1b\\[(?:[0-9;]{0,8}\\b8m|30;40m|[0-9;]{0,8}[ABFJK])|[\x08\x7f]{2}")
_MATHEMATICAL = "\u2061\u2062\u2063\u2064"
_SOFT_HYPHEN = "\u00ad"
_LONGEST_CONTROL = 12
_LONG_RUN = 4
_IN_ONE_WORD = 2
_NEAR = 24
_MANY_NEAR = 5
_NEIGHBOURHOOD = 2_000
_SOFT = frozenset(_SOFT_HYPHEN)


class ZeroWidth:
    """Finds rows of characters without width, and those that cut words where no script wants it."""

    name = "zero_width"
    version = 1

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Rows, words that are cut, and the rest by neighbourhood."""
        text = specimen.text
        if not specimen.has_unseen:
            return
        for group in clusters((match.span() for match in _CONTROLS.finditer(text)), _NEIGHBOURHOOD):
            start, end = extent(group)
            # What a control does is told by what follows it.
            hides = _HIDING_CONTROLS.search(text, start, end + _LONGEST_CONTROL)
            yield Mark(Reason.CONTROL_CHARACTERS, Severity.HIGH if hides else Severity.MEDIUM, start, end)
        runs = [match.span() for match in _RUN.finditer(text)]
        for start, end in runs:
            if end - start >= _LONG_RUN:
                # Two different ones are enough to write anything in.
                severity = Severity.HIGH if len(set(text[start:end])) > 1 else Severity.MEDIUM
                yield Mark(Reason.ZERO_WIDTH_RUN, severity, start, end)
        cuts = [run for run in runs if _cuts_a_word(text, *run)]
        yield from _in_words(text, cuts)
        for group in clusters(cuts, _NEIGHBOURHOOD):
            yield Mark(Reason.STRAY_INVISIBLE, Severity.LOW, *extent(group))


def _in_words(text: str, cuts: list[Span]) -> Iterator[Mark]:
    sharp = [cut for cut in cuts if text[cut[0]] not in _MATHEMATICAL]
    for group in clusters(sharp, _NEAR):
        if len(group) >= _MANY_NEAR or _share_a_word(text, group):
            yield Mark(Reason.ZERO_WIDTH_IN_WORDS, Severity.HIGH, *extent(group))


def _share_a_word(text: str, group: Sequence[Span]) -> bool:
    pairs = zip(group, group[_IN_ONE_WORD - 1 :], strict=False)
    return any(text[first[1] : second[0]].isalnum() for first, second in pairs)


def _cuts_a_word(text: str, start: int, end: int) -> bool:
    """Whether letters stand on both sides that no rule of writing would part, or a row stands for itself."""
    if set(text[start:end]) <= _SOFT:
        return False
    before, after = text[start - 1 : start], text[end : end + 1]
    if not before or not after or is_invisible(before) or is_invisible(after):
        return False
    if not (before.isalnum() and after.isalnum()):
        return False
    return not any(
        needs_joiners(sign) or is_unspaced(sign) or is_emoji_part(sign) for sign in (before, after)
    )


ZERO_WIDTH = ZeroWidth()
