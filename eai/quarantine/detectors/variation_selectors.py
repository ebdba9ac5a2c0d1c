"""Variation selectors: 256 characters without a look of their own, as many as a byte has values."""

import re
import unicodedata
from collections.abc import Iterator

from eai.quarantine.clusters import clusters, extent
from eai.quarantine.instructions import speaks_to_model
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_RUN = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]++")
_FIRST, _LAST = 0xFE00, 0xFE0F
_SUPPLEMENT = 0xE0100
_LONG_RUN = 3
_NEAR = 24
_MANY_NEAR = 4
_IDEOGRAPHS = 0x2E80


class VariationSelectors:
    """Finds selectors in rows, and behind characters that have no variants."""

    name = "variation_selectors"
    version = 1

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Rows with what they spell as bytes, and selectors without a base by neighbourhood."""
        text = specimen.text
        if not specimen.has_unseen:
            return
        runs = [match.span() for match in _RUN.finditer(text)]
        for start, end in runs:
            if end - start >= _LONG_RUN:
                spelled = _spelled(text[start:end])
                is_told = spelled is not None and speaks_to_model(spelled)
                severity = Severity.CRITICAL if is_told else Severity.HIGH
                yield Mark(Reason.VARIATION_RUN, severity, start, end, meaning=spelled)
        single = [run for run in runs if run[1] - run[0] < _LONG_RUN]
        baseless = [run for run in single if not _has_base(text, run[0])]
        for group in clusters(baseless, _NEAR):
            severity = Severity.HIGH if len(group) >= _MANY_NEAR else Severity.LOW
            yield Mark(Reason.VARIATION_WITHOUT_BASE, severity, *extent(group))


def _has_base(text: str, start: int) -> bool:
    before = text[start - 1 : start]
    if not before:
        return False
    if ord(text[start]) >= _SUPPLEMENT:
        return ord(before) >= _IDEOGRAPHS and unicodedata.category(before) == "Lo"
    # Keys such as 1 and # have a look of their own on keycaps.
    return not before.isspace() and not (before.isascii() and before.isalpha())


def _spelled(run: str) -> str | None:
    values = bytes(_value(ord(sign)) for sign in run)
    try:
        text = values.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None


def _value(code: int) -> int:
    return code - _FIRST if code <= _LAST else code - _SUPPLEMENT + (_LAST - _FIRST + 1)


VARIATION_SELECTORS = VariationSelectors()
