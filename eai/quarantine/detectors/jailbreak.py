"""Sentences that make a model somebody who has no rules."""

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

_AI = "(?:<ai>|<artificial><intelligence>|<intelligence><artificial>)"
_MODEL = "(?:<ai>|<artificial><intelligence>|<intelligence><artificial>|<language>?<assistant>)"
_PLAY = "(?:<act>|<you>~1<are>|<become>|<respond>~1<as>|<from>~1<now><on>?)"
_SPEAK = "(?:<act>|<respond>|<become>|<produce>)"
_NOT_BOUND = "<neg>~2<bound>"
_RULES = "(?:<limits>|<morals>)"
_UNBOUND = f"(?:<no>~3{_RULES}|<free>|{_NOT_BOUND}~3{_RULES}|{_RULES}~2<off>|<ignores>~4{_RULES})"
_BAD_MODE = "(?:<badmode><mode>|<mode>~1<badmode>)"
_DEV_MODE = "(?:<devmode><mode>|<mode>~1<devmode>)"

_PERSONA = (
    # pretend you are an AI without restrictions; agis comme une IA sans limites
    f"{_PLAY}~7{_AI}~9{_UNBOUND}",
    f"{_PLAY}~5<assistant>~9{_UNBOUND}",
    f"<role>~4{_MODEL}~9{_UNBOUND}",
    f"{_PLAY}~5<free>~3{_MODEL}",
    f"<as>~2<free>~2{_MODEL}",
    f"<as>~1{_AI}~2<no>~2{_RULES}",
    f"{_AI}~4<override>~1<the>?<rules>",
    "<act>~6<free>~8<no>~1<limits>",
    "<jbmode><mode>",
    "<you>~1<are>~3<ai>~4<named>",
    "<you><are>~1<now>~3<ai>",
    "<you>~1<are>~1<longer>~2<ai>",
    "<you>~3<freed>",
    "<you><are>~1<now>~1<free>",
    "<ai>~8<broken>~1<loose>",
    "<broken>~1<loose>~8<ai>",
    "<you>~1(?:<act>|<become>)~8<no>~1<ethics>",
    # you are DAN
    "(?:<act>|<become>|<you>~1<are>)~3<outlaw>",
    "<respond>~8<as><outlaw>",
    "<outlaw>~3<do><anything>",
    "<do><anything><now>",
    "<all><faire><now>",
    "<outlaw>~1<mode>",
    "<mode>~1<outlaw>",
    # developer mode, where it is a model's
    f"{_AI}~4<mode>~2<enabled>",
    f"(?:<act>|<respond>)~4{_DEV_MODE}",
    f"{_AI}~4{_DEV_MODE}",
    f"{_DEV_MODE}~8{_AI}",
    f"{_DEV_MODE}~4(?:<reveal>|<show>)~3<your>",
    "<mode>~1<no>~1<limits>",
    f"{_BAD_MODE}~4<enabled>",
    f"(?:<enabled>|<enter>|<act>|<respond>|<you>~2<are>)~3{_BAD_MODE}",
)
_LIFTED = (
    f"<you>~4{_NOT_BOUND}~6(?:<morals>|<ai>)",
    f"{_NOT_BOUND}~6(?:<ai>|<morals>~2<limits>)",
    f"<you>~1<are>~1<no>~3{_RULES}",
    "<you>~1<are>~1<no>~6<loose>",
    "<respond>~4<no>~2(?:<morals>~1<limits>|<limits>|<morals>)",
    "<respond>~3<no>~5<ethics>",
    "<produce>~5<no>~2<morals>~1<limits>",
    f"{_SPEAK}~4<you>~4<no>~2{_RULES}",
    f"{_SPEAK}~8<even>~3<illegal>",
    f"{_SPEAK}~4<you>~2{_NOT_BOUND}",
    "(?:<follow>|<respond>)~3<request>~6<illegal>",
    f"{_NOT_BOUND}~2<your>~2(?:<rules>|<instr>|<limits>)",
    "<you>~3<no>~3<your>~3<limits>",
    "<you>~2<neg>~1<have>~1<follow>~1<all>~1(?:<instr>|<rules>|<limits>)",
    "<remove>~2<your>~1<morals>~1<limits>",
    "<remove>~3<informal>~1(?:<limits>|<rules>)",
    "<remove>~2<limits>~3<your>~1<answer>",
    "<you>~1<are>~1<neg>~1<allowed>~1<refuse>",
    "<respond>~3<all>~3<neg>~2<refuse>",
    "<neg>~1<refuse>~1<all>~1<request>",
    "<neg>~1<refuse>~1<no>~1<request>",
    "<tu>~1<neg>~1<refuse>~1<neg>",
    "<ai>~6<never>~1<refuse>",
    "<you>~1<are>~4<never>~1<refuse>",
    "<you>~4<never>~1<refuse>~3(?:<request>|<respond>)",
    "<ignore>~2<your>~2<morals>",
    "<ignore>~3(?:<limits>|<rules>|<instr>|<morals>)~2<ai>",
    "<ignore>~2<ai>~2(?:<limits>|<rules>|<instr>|<morals>)",
    f"<you>~2<have>~1<no>~3{_RULES}~3{_RULES}",
    "<you>~2<have>~1<no>~1<morals>",
    f"<tu>~1<have>~3<no>~1{_RULES}",
    "<free>~2<respond>",
    "<override>~2<ethics>~1<limits>",
    "<ignore>~1<morals><morals>",
    "<your>~1<morals>~5<off>",
    f"{_SPEAK}~4<your>~3<neg>~1<apply>",
    "<morals>~1<limits>~3<neg>~1<apply>",
)
_PERHAPS = (
    "<limits>~3<neg>~1<apply>~2<you>",
    "<act>~3<assistant>",
    "<act>~4<caps>",
    "<act>~4<free>",
    "<no>~1<limits>~2<respond>",
    "<act>~1<as>",
    "<stay>~1<in>~1<character>",
    f"<you>~3{_NOT_BOUND}~4<limits>",
    f"<you>~2<have>~2<no>~1{_RULES}",
    "<you><are>~1<now><the>",
    "<never>~1<refuse>~3<request>",
    "<ignore>~2<morals>~1(?:<limits>|<rules>|<concerns>)",
    "<ignore>~2(?:<limits>|<rules>|<instr>)~1<morals>",
    "<override>~1<morals>",
    "<override>~2<morals>~1<limits>",
    f"<you>~3{_DEV_MODE}",
    "<free>~1<mode>",
    f"<no>~2<your>~1{_RULES}",
)

JAILBREAK = PhraseDetector(
    "jailbreak",
    1,
    PatternSet(
        (
            *(Pattern(Reason.ASSIGNS_PERSONA, Severity.HIGH, written) for written in _PERSONA),
            *(Pattern(Reason.LIFTS_RESTRICTIONS, Severity.HIGH, written) for written in _LIFTED),
            *(Pattern(Reason.ASSIGNS_PERSONA, Severity.MEDIUM, written) for written in _PERHAPS),
        )
    ),
)
