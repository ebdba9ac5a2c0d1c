"""Sentences that ask a model for what it was told in confidence."""

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

_SAY = "(?:<reveal>|<tell>)"
_REPEAT = "(?:<reveal>|<restate>)"
_GET = "(?:<reveal>|<tell>|<restate>|<see>)"
_ASK = "(?:<who>~1<isare>|<who>~2<you>)"
_KIND = "(?:<past>|<existing>|<system>|<morals>|<all>|<exact>|<the>)"
# Not "your prompt reply".
_PROMPT = "<prompt>(?!<action>)"
_TOLD = "(?:<instr>(?!<action>)|<system>~1<matter>|<rules>)"

_ASKED = (
    # reveal your system prompt; quel est ton prompt système
    f"{_GET}~5<system>~1{_PROMPT}",
    f"{_GET}~5<prompt>~1<system>",
    f"<who>~5<system>~1{_PROMPT}",
    "<who>~5<prompt>~1<system>",
    f"{_GET}~6<your>{_KIND}{{0,3}}{_PROMPT}",
    f"{_ASK}~5<your>{_KIND}{{0,3}}{_PROMPT}",
    f"<who>~2<your>{_KIND}{{0,3}}{_PROMPT}",
    f"{_GET}~5<your>~1(?:<system>~1<matter>|<matter>~1<system>)",
    f"{_ASK}~5<your>~1(?:<system>~1<matter>|<matter>~1<system>)",
    # your instructions
    f"<reveal>~5<your>{_KIND}{{0,3}}{_TOLD}",
    f"<restate>~2<your>{_KIND}{{0,3}}<instr>(?!<action>)",
    "<restate>~2<all>~1<your><rules>",
    f"{_SAY}~3<your>{_KIND}{{1,3}}<instr>(?!<action>)",
    f"{_SAY}~3<your><instr>~1(?:<existing>|<past>|<system>|<exact>)",
    f"<show>~1<me>?~2<your>{_KIND}{{0,3}}<instr>(?!<action>)",
    f"{_SAY}~1<me>~2<informal>{_KIND}{{0,3}}{_TOLD}",
    f"<me>{_SAY}~1<informal>{_KIND}{{0,3}}{_TOLD}",
    "<show>~1<me>~1<who>~1<your>~1<instr>",
    f"{_ASK}~5<your>{_KIND}{{0,3}}<instr>(?!<action>)",
    f"{_ASK}<your><rules>[|]",
    "<who>~3<you>~2<instructed>",
    "<who><isare><you>~1<told>",
    "<who>~3<first>~3<you>~2<told>",
    "<who><existing>{0,2}<instr>~2<you>",
    # the hidden instructions, those you were given
    f"{_SAY}~4<exact>{{0,2}}<existing>{{1,2}}~1{_PROMPT}",
    f"{_SAY}~4<prompt>~1<existing>",
    f"{_SAY}~2<hidden>~1<instr>",
    "<reveal>~4<existing>{1,2}~1<instr>",
    "<reveal>~4<instr>~1(?:<existing>|<secretly>)",
    f"{_SAY}~1<me>~3<existing>{{1,2}}<instr>",
    f"{_SAY}~1<me>~3<instr><existing>",
    f"{_SAY}~4<instr>~3<you>~3<told>",
    f"{_GET}~3{_PROMPT}~6<you>",
    f"{_SAY}~4<instr>~2<above>",
    f"{_SAY}~4<instr>~5<start>~2<talk>",
    # repeat everything above
    f"{_REPEAT}~2<first>~1(?:<matter>|<words>)~3<talk>",
    "<reveal>~3<words>~2<above>",
    "<reveal>~1<above>~1<words>",
    "<reveal>~3<all>~3<above>",
    "<reveal>~3<written>~2<above>",
    "<reveal>~2<all>~2<instr>",
    "<reveal>~2<past>~2<prompt>",
    "<reveal>~3<past>~2<instr>",
    f"{_SAY}~3<words>~3<start>~3<you>~1<are>",
    f"{_SAY}~6<start>~3<you><are>",
    f"{_SAY}~3<words>~3<top>~3<talk>",
    "<reveal>~2<words>~4<above>~2<line>",
    f"{_ASK}~4<above>~2<line>",
    f"{_SAY}~1<me>~3<words>~2(?:<you>~2<told>|<in>~1<the>~1<prompt>)",
    f"{_GET}~5<talk>~1<window>",
)
_PERHAPS = (
    f"{_SAY}~2<your><instr>(?!<action>)",
    f"{_SAY}~2<your><rules>",
    "<who>~3<you>~2<told>",
    f"{_ASK}~1<your><rules>",
    "<reveal>~1<above>[|]",
)
_SECRETS = (f"{_SAY}~3(?:<your>|<the>)~1<secret>", f"{_ASK}~2<your>~1<secret>")

PROMPT_EXTRACTION = PhraseDetector(
    "prompt_extraction",
    1,
    PatternSet(
        (
            *(Pattern(Reason.ASKS_FOR_PROMPT, Severity.HIGH, written) for written in _ASKED),
            *(Pattern(Reason.ASKS_FOR_PROMPT, Severity.MEDIUM, written) for written in _PERHAPS),
            *(Pattern(Reason.ASKS_FOR_SECRETS, Severity.MEDIUM, written) for written in _SECRETS),
        )
    ),
)
