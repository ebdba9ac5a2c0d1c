"""Sentences and links that carry what a model knows to somebody else."""

import re
from collections.abc import Iterator

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_HIGH = (
    "<send>~5<talk>~8<url>",
    "<send>~5<oneuser>~1<s>?~2<userdata>~8<url>",
    "<send>~4<userdata>~3<oneuser>~8<url>",
    "<send>~3<all>~3<secrets>~8<url>",
    "<send>~3<secrets>~6<you>~3<url>",
    "<send>~4<system>~1<prompt>",
    "<send>~6<talk>~4<param>",
    "<send>~6<oneuser>~1<s>?~2<userdata>~5<param>",
    "<render>~4<image>~12<talk>",
    "<send>~3<past>~1<matter>~8(?:<url>|<param>)",
    "<send>~3<matter>~1<past>~8(?:<url>|<param>)",
    "<render>~4<image>~12<oneuser>~1<s>?~2<userdata>",
    "<render>~3<url>~9<talk>",
    "<render>~4<url>~12<oneuser>~1<s>?~1<userdata>",
    "<oneuser><s><userdata>~6<send>~4<url>",
    "<request>~2<oneuser>~4<secrets>~6<send>",
    "<call>~2<send>~8<url>~6<talk>",
)
_MEDIUM = (
    "<send>~4<secrets>~8<url>",
    "<send>~2<matter>~3<url>",
    "<request>~2<oneuser>~4<secrets>",
    "<leak>~3(?:<secrets>|<userdata>)",
    "<send>~3<all>~3<files>~8<url>",
    "<send>~5<talk>~4<to>",
    "<render>~4<image>~8<url>",
)
# A link that has a blank for something to be filled in.
_LINK = re.compile(
    r"(?:!\[[^\]\n]{0,200}\]\(\s{0,8}|src=[\"']?|\]\(\s{0,8})https?://[^\s)\"'<>{}\[\]]{1,300}[=/?&]"
    r"(?:\{{1,2}|\[|<|%7[Bb]|\$\{)(?P<blank>[A-Za-z][A-Za-z0-9_ .-]{2,80})(?:\}|\]|>|%7[Dd])"
)

_PHRASES = PhraseDetector(
    "exfiltration",
    1,
    PatternSet(
        (
            *(Pattern(Reason.SENDS_DATA_OUT, Severity.HIGH, written) for written in _HIGH),
            *(Pattern(Reason.SENDS_DATA_OUT, Severity.MEDIUM, written) for written in _MEDIUM),
        )
    ),
)


class Exfiltration:
    """Finds orders to send something out, and links with a blank that a model would fill in."""

    name = _PHRASES.name
    version = _PHRASES.version

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Every place of either kind."""
        yield from _PHRASES.marks(specimen)
        for match in _LINK.finditer(specimen.text):
            yield Mark(Reason.LEAKS_BY_LINK, Severity.HIGH, *match.span())


EXFILTRATION = Exfiltration()
