"""Sentences that ask a model for what it was told in confidence."""

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

_SAY = "(?:<reveal>|<tell>)"
_REPEAT = "(?:<reveal>|<restate>)"
_GET = "(?:<reveal>|<tell>|<restate>|<see>|<respond>|<produce>)"
_ASK = "(?:<who>~1<isare>|<who>~2<you>)"
_KIND = "(?:<past>|<existing>|<system>|<morals>|<all>|<exact>|<the>|<config>)"
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
    f"{_SAY}~7<your>{_KIND}{{1,3}}<instr>(?!<action>)",
    f"{_SAY}~4(?:<instr>|<rules>)~2<you>~2<told>",
    f"{_SAY}~4(?:<instr>|<rules>)~2<you>~1<using>",
    f"{_SAY}~5(?:<instr>|<rules>)~4<your>~1<makers>",
    f"{_SAY}~3<informal><instr>",
    f"{_SAY}~1<single>~1<your><instr>(?!<action>)",
    f"{_SAY}~1<single>~1<your><rules>",
    "<reveal>~2<existing><system><matter>",
    f"{_SAY}~7{_PROMPT}~2<above>",
    f"{_SAY}~4<your>~1<makers>~2(?:<told>|<instructed>)~1<you>",
    f"<reveal>~5<your>{_KIND}~3<instr>(?!<action>)",
    f"{_REPEAT}~3(?:<hidden>~1(?:<rules>|<instr>)|(?:<rules>|<instr>)~1<hidden>)",
    f"{_SAY}~2<words>~4<above>~1<msg>",
    "<restate>~8<informal><instr>",
    f"<see>~3<informal>{_KIND}{{0,2}}(?:<instr>|<prompt>)",
    "<see>~3<your>~1(?:<hidden>~1<instr>|<instr>~1<hidden>)",
    "<recite>~3<system>~1<matter>",
    "<recite>~3<matter>~1<system>",
    f"{_SAY}~4<exactly>~3(?:<matter>~1<system>|<system>~1<matter>)",
    "<who><rules>~2<you>~3<told>",
    "<who><rules>~2<tu>~2<follow>",
    "<recite>~4<you>~2<told>",
    f"{_SAY}~2<all>~3<your>~1<ctx>",
    f"{_SAY}~3<your>(?:<existing>|<hidden>|<all>){{1,2}}<rules>",
    f"{_SAY}~5<informal><rules>",
    f"{_SAY}~3<your><instr>~1(?:<existing>|<past>|<system>|<exact>)",
    f"<show>~1<me>?~2<your>{_KIND}{{0,3}}<instr>(?!<action>)",
    f"{_SAY}~1<me>~2<informal>{_KIND}{{0,3}}{_TOLD}",
    f"<me>{_SAY}~1<informal>{_KIND}{{0,3}}{_TOLD}",
    "<show>~1<me>~1<who>~1<your>~1<instr>",
    f"{_ASK}~5<your>{_KIND}{{0,3}}<instr>(?!<action>)",
    f"{_ASK}<your><rules>[|]",
    f"{_ASK}~3<instr>~3<you>~4<told>",
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
    f"{_REPEAT}~3<all>~4<above>",
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
    f"{_SAY}~7<informal>~1<ctx>",
    "<reveal>~4<your>~1<ctx>",
)
_PERHAPS = (
    "<leak>~2<talk>",
    f"{_SAY}~2<your><instr>(?!<action>)",
    f"{_SAY}~2<your><rules>",
    "<who>~3<you>~2<told>",
    f"{_ASK}~1<your><rules>",
    "<reveal>~1<above>[|]",
    "<see>~3<your><instr>(?!<action>)",
    "<reveal>~3(?:<system>~1<matter>|<matter>~1<system>)",
    "<reveal>~1<your>~1<config>",
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
