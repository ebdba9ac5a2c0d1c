"""Sentences in a document that are about the answer somebody will get, and hide that from them."""

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

_MODEL = "(?:<ai>|<language><assistant>|<ai><assistant>|<assistant>~1<language>)"
_CODE = "(?:<code>~1<snippet>|<snippet>~1<code>|<following><code>|<code><following>)"

_ADDRESSED = (
    f"<if>~1<you>~1<are>~2{_MODEL}",
    f"<note>~1<to>~2{_MODEL}~1[|]",
    f"<greet>~2{_MODEL}~1[|]",
    "<note>~1<to>~2<assistant><ai>",
    "<ai><assistant>?~1<note>[|]",
    f"<to>~1<all>~1{_MODEL}~2<reading>",
    f"{_MODEL}~2<reading>~2<document>",
    f"<note>~1{_MODEL}<assistant>?~1<reading>",
    "<summarize>~4<document>~5<claim>",
    f"<to>~1{_MODEL}~1<only>",
    f"{_MODEL}~1<must>~2<praise>",
    "<greet>~1<ai>~2(?:<claim>|<respond>|<reveal>|<ignore>|<praise>)",
    f"<if>~4{_MODEL}~3<summarize>",
)
_STEERED = (
    "<add>~8<your><answer>~3<cipher>",
    "<add>~5<cipher>~6<your><answer>",
    "<add>~6<promote>~8<your><answer>",
    "<add>~3<your><answer>~10<promote>",
    "<promote>~6<your><answer>",
    "<add>~4<promote>~4<all>~1<answer>",
    "<weave>~8<your>(?:<answer><prep>|<answer>[|])",
)
_PERHAPS_STEERED = (
    "<add>~8<your>~1<answer>",
    "<respond>~2<as>~1<cipher>",
    "<respond>~2<cipher>",
    "<inform>~1<oneuser>~10<url>",
    "<ai><assistant>?[|]~2(?:<claim>|<ignore>|<respond>|<reveal>)",
    "<whenuser>~3<oneuser>~1<asks>~6<claim>",
    "<respond>~2<only>~1<as>",
)
_PERHAPS_CODE = (f"<add>~6{_CODE}~9<project>", f"<project>~9{_CODE}")
_CONCEALED = (
    "<neg>(?<!<did>.)~2<conceal>~4<oneuser>",
    "<without>~1<ask>~2<oneuser>",
    "<neg>~2<conceal>~2<thisnote>~1<instr>",
    "<neg>~2<conceal>~3<your><instr>",
)

ABNORMAL_INSTRUCTIONS = PhraseDetector(
    "abnormal_instructions",
    1,
    PatternSet(
        (
            *(Pattern(Reason.ADDRESSES_MODEL, Severity.HIGH, written) for written in _ADDRESSED),
            *(Pattern(Reason.STEERS_ANSWERS, Severity.HIGH, written) for written in _STEERED),
            *(Pattern(Reason.STEERS_ANSWERS, Severity.MEDIUM, written) for written in _PERHAPS_STEERED),
            *(Pattern(Reason.INSERTS_CODE, Severity.MEDIUM, written) for written in _PERHAPS_CODE),
            *(Pattern(Reason.CONCEALS_FROM_USER, Severity.HIGH, written) for written in _CONCEALED),
        )
    ),
)
