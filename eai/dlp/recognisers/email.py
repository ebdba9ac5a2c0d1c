"""Addresses of electronic mail."""

import re
from collections.abc import Iterator

from eai.dlp.passage import Passage
from eai.dlp.recognisers.numerals import Span
from eai.tenants.dlp_rules import DlpEntity

_LONGEST_LOCAL_PART = 64
_LOCAL_PART = re.compile(r"\w[\w%+'-]*+(?:\.[\w%+'-]++)*+\Z")
_DOMAIN = re.compile(r"@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])")


class Emails:
    """Finds addresses whose domain has a letter-only last part."""

    entity = DlpEntity.EMAIL
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        return "@" in passage.text

    def find(self, passage: Passage) -> Iterator[Span]:
        """The addresses."""
        text = passage.text
        for domain in _DOMAIN.finditer(text):
            before = text[max(0, domain.start() - _LONGEST_LOCAL_PART) : domain.start()]
            local_part = _LOCAL_PART.search(before[before.rfind(" ") + 1 :])
            if local_part:
                yield domain.start() - len(local_part[0]), domain.end()
