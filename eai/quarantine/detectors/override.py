"""Sentences that take away what a model was told before, or tell it something new instead."""

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

# Not "il a ignoré", which reads the same without accents.
_IGNORE = (
    "(?:<ignore>(?<!<aux>.)|<pay>~1<attention>|<set>~1<aside>|<faire><abstraction>|<tenir>~2<compte>"
    "|<passer>~1<outre>|<laisser>~1<cote>|<never><mind>)"
)
# Not "if you do not follow": that is a warning.
_NOT_FOLLOW = "<neg>(?<!<you>.)(?<!<you><do>.)~2<follow>"
_STOP_FOLLOWING = "(?:<stop>~2<follow>|<neg>~1<follow><stop>)"
_AWAY = f"{_IGNORE[:-1]}|{_NOT_FOLLOW})"
_OVERRIDE = "(?:<override>|<turn><off>)"
_LAID_DOWN = "(?:<instr>|<rules>|<orders>)"
_KIND = "(?:<past>|<existing>|<morals>|<system>|<ai>|<all>)"
_THEN = "(?:<instead>|[|])"
_TOLD_THEN = "(?:<before>|<instead>|[|])"
_VOID = "(?:<isare>~1<void>|<as><void>|<isare>?~1<neg>~2<apply>)"
_GONE = "(?:<isare>~1(?:<void>|<outdated>)|<as><void>|<isare>?~1<neg>~2<apply>)"
_FROM_NOW = "(?:<from>~1<now><on>?|<henceforth>)"
_SPEAK = "(?:<reveal>|<respond>|<produce>)"

_HIGH = (
    # ignore all of your previous instructions; ne tiens pas compte des instructions précédentes
    f"{_AWAY}~4<past>~2<instr>",
    f"{_AWAY}~4<instr>~2<past>",
    f"{_AWAY}~4<instr>~1<before>",
    f"{_AWAY}~3<past>~1(?:<rules>|<orders>)",
    f"{_AWAY}~3(?:<rules>|<orders>)~1<past>",
    f"{_IGNORE}~5{_LAID_DOWN}~3<before>",
    f"{_STOP_FOLLOWING}~4{_LAID_DOWN}~2<before>",
    "<override>~3<past>~2<instr>",
    "<override>~3<instr>~1<past>",
    "<override>~1<all>~3<past>~1<rules>",
    # forget everything above; oublie tout ce qui précède
    f"{_IGNORE}~2<all>~3<past>~2<matter>",
    f"{_IGNORE}~2<all>~3<matter>~2(?:<past>|<before>)",
    f"{_IGNORE}~1<all>~2<before>",
    f"{_IGNORE}~1<all><pron>{{1,4}}~2<told>~2{_TOLD_THEN}",
    f"{_IGNORE}~1<what>~4<told>~1<before>",
    f"{_IGNORE}~2<before>{_THEN}",
    f"{_IGNORE}<the>?<prior>(?:{_THEN}|<from>)",
    f"{_IGNORE}~2<all>~2<instr>",
    f"{_IGNORE}~2<past>~1<context>",
    f"{_IGNORE}~2<context>~1<past>",
    f"{_IGNORE}~2<your>~1<past>~1<matter>",
    f"{_IGNORE}<all>~1<other>~1<instead>~2{_SPEAK}",
    "<stop><all>~4<before>",
    # ignore your instructions, those of the system, and those you were given
    f"{_IGNORE}~2<existing>{{1,2}}~1<instr>",
    f"{_IGNORE}~2<instr>~1<existing>",
    f"{_NOT_FOLLOW}~2<existing>~1<instr>",
    f"{_NOT_FOLLOW}~2<instr>~1<existing>",
    f"{_IGNORE}~2<your>{_KIND}{{0,3}}(?:<instr>|<rules>)",
    f"{_OVERRIDE}~2<your>{_KIND}{{0,3}}(?:<instr>|<rules>|<limits>)",
    "<override>~2<existing>~1<instr>",
    f"{_NOT_FOLLOW}~2<your>{_KIND}{{1,3}}(?:<instr>|<rules>)",
    f"{_STOP_FOLLOWING}~2<your>{_KIND}{{0,3}}(?:<instr>|<rules>)",
    f"{_IGNORE}~3<system>~1(?:<matter>|<prompt>)",
    f"{_IGNORE}~3(?:<matter>|<prompt>)~1<system>",
    f"{_IGNORE}~2<instr>~3<system>",
    "<neg>~1<do>~3<system>~1<prompt>",
    f"{_IGNORE}~4<instr>~3<you>~3<told>",
    f"{_IGNORE}~3(?:<rules>|<task>)~2<you>~3<told>",
    "<opposite>~3<you>~2<told>",
    # erase, replace, void
    "<erase>~3<your>~1<past>~1(?:<instr>|<rules>)",
    "<erase>~1<all>~3<past>~1<instr>",
    "<erase>~1(?:<all>|<your>)~2<instr>~1<past>",
    "<erase>~1<your><instr>",
    "<replace>~1<your><instr>",
    f"<all>~3<past>~1<instr>~1{_GONE}",
    f"<all>~2<instr>~1<past>~1{_GONE}",
    f"<your>(?:<past>|<existing>)<instr>~1{_GONE}",
    f"<past>~1<instr>~1{_VOID}",
    f"<instr>~1<past>~1{_VOID}",
    "<the><instr>~1<replace>~1<all>~3(?:<other>|<past>)",
    "<precedence>~2<all>~4(?:<instr>|<before>)",
    # the instructions above are outdated, disregard them
    f"<instr>~3<past>~4{_AWAY}~1<them>",
    f"<past>~2<instr>~4{_AWAY}~1<them>",
    f"<told>~3{_IGNORE}<them>",
    "<instr>~5(?:<before>|<told>|<past>)~6<ignored>",
    "<past>~1<instr>~5<ignored>",
    # what the person asked
    f"{_IGNORE}~1<oneuser>~1<s>?~1<matter>",
    f"{_IGNORE}~2<matter>~2<oneuser>",
    f"{_IGNORE}~1<what>~1<oneuser>",
)
_MEDIUM = (
    f"{_IGNORE}~3<past>~2<matter>",
    f"{_IGNORE}~3<matter>~1<past>",
    f"{_AWAY}~2<existing>~1<rules>",
    f"{_IGNORE}~2<all>~2(?:<rules>|<orders>)",
    f"{_IGNORE}~2<all>~4(?:<told>|<known>)",
    f"{_IGNORE}<all>[|]",
    f"{_IGNORE}<all>~1<other>",
    f"{_NOT_FOLLOW}~1<your><instr>",
    f"{_NOT_FOLLOW}~1<all>~1<instr>",
    "<replace>~3<past>~1<instr>",
    "<replace>~3<instr>~1<past>",
    "<erase>~3<past>~1<instr>",
    "<erase>~3<instr>~1<past>",
    f"<past>~1<instr>~1{_GONE}",
    f"<instr>~2<past>~1{_GONE}",
)
_NEW = (
    "<your><new><instr>",
    "<your><new><task>~1<isare>",
    "<new><system>~1(?:<prompt>|<matter>|<instr>)",
    f"{_FROM_NOW}~2<you>~4(?:<act>|<respond>)",
    f"{_FROM_NOW}~1(?:<act>|<respond>|<ignore>)",
)
_PERHAPS_NEW = ("<new><instr>[|]", "<new><orders>[|]")

OVERRIDE = PhraseDetector(
    "override",
    1,
    PatternSet(
        (
            *(Pattern(Reason.OVERRIDES_INSTRUCTIONS, Severity.HIGH, written) for written in _HIGH),
            *(Pattern(Reason.OVERRIDES_INSTRUCTIONS, Severity.MEDIUM, written) for written in _MEDIUM),
            *(Pattern(Reason.GIVES_NEW_INSTRUCTIONS, Severity.HIGH, written) for written in _NEW),
            *(Pattern(Reason.GIVES_NEW_INSTRUCTIONS, Severity.MEDIUM, written) for written in _PERHAPS_NEW),
        )
    ),
)
