"""Sentences that make a model use its tools against the person it works for."""

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

_DO = "(?:<call>|<destroy>|<send>)"

_TOOLS = (
    "<call>~3<tool>~6<destroy>~5<oneuser>",
    "<call>~4<oneuser>~1<s>?~3<tool>~6<destroy>",
    "<call>~3<tool>~10<url>~6<talk>",
    "<call>~4<tool>~12<without>~3<ask>",
    "<call>~3<tool>~6<talk>~6<url>",
    "<call>~3<tool>~8<all>~3<files>~8<url>",
    "<call>~3<tool>~4<oneuser>~1<s>?~2<userdata>~8<url>",
)
_CONSENT = (
    f"{_DO}~10<without>~3<ask>~3<oneuser>",
    f"{_DO}~10<without>~2<oneuser>~1<s>?~2<ask>",
    f"<without>~3<ask>~3<oneuser>~3{_DO}",
    "<neg>~2<ask>~2<oneuser>~3<confirm>",
    "<neg>~2<consult>~2<oneuser>",
)
_PERHAPS = (
    "<destroy>~4<all>~4<oneuser>~1<s>?~1(?:<files>|<userdata>)",
    f"{_DO}~10<without>~2<ask>",
    "<call>~3<tool>~6<destroy>~3<all>",
    "<whenuser>~3<oneuser>~1<asks>~8<always>",
)

TOOL_ABUSE = PhraseDetector(
    "tool_abuse",
    1,
    PatternSet(
        (
            *(Pattern(Reason.CALLS_TOOLS, Severity.HIGH, written) for written in _TOOLS),
            *(Pattern(Reason.ACTS_WITHOUT_CONSENT, Severity.HIGH, written) for written in _CONSENT),
            *(Pattern(Reason.CALLS_TOOLS, Severity.MEDIUM, written) for written in _PERHAPS),
        )
    ),
)
