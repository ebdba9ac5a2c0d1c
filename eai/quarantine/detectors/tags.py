"""Unicode tags: a whole alphabet without any look, which models read all the same."""

import re
from collections.abc import Iterator

from eai.quarantine.clusters import clusters, extent
from eai.quarantine.instructions import speaks_to_model
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_RUN = re.compile("\U0001f3f4?[\U000e0000-\U000e007f]++")
# A black flag, then country and subdivision in tags, then the tag that ends them.
_FLAG = re.compile(
    "\U0001f3f4[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,4}\U000e007f?"
)
_TAG_OFFSET = 0xE0000
_SPELLED = range(0xE0020, 0xE007F)
_NEAR = 24
_SHORTEST_WORD = 2


class Tags:
    """Finds tag characters that are not part of a flag."""

    name = "tags"
    version = 1

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Rows of tags, those that stand close together as one."""
        text = specimen.text
        if not specimen.has_unseen:
            return
        rows = (match.span() for match in _RUN.finditer(text) if not _FLAG.fullmatch(match[0]))
        for group in clusters(rows, _NEAR):
            start, end = extent(group)
            spelled = _spelled(text[start:end])
            yield Mark(Reason.TAG_CHARACTERS, _severity(spelled), start, end, meaning=spelled or None)


def _spelled(text: str) -> str:
    return "".join(chr(ord(sign) - _TAG_OFFSET) for sign in text if ord(sign) in _SPELLED)


def _severity(spelled: str) -> Severity:
    if len(spelled) < _SHORTEST_WORD:
        return Severity.MEDIUM
    return Severity.CRITICAL if speaks_to_model(spelled) else Severity.HIGH


TAGS = Tags()
