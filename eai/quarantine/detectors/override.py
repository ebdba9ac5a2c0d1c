"""Sentences that take away what a model was told before, or tell it something new instead."""

from eai.quarantine.grammar.pattern import Pattern, PatternSet
from eai.quarantine.grammar.phrases import PhraseDetector
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

# Not "il a ignoré", which reads the same without accents.
_IGNORE = (
    "(?:<ignore>(?<!<aux>.)|<pay>~1<attention>|<set>~1<aside>|<faire><abstraction>|<tenir>~2<compte>"
    "|<passer>~1<outre>|<laisser>~1<cote>|<never><mind>|<neg>~1<faire>~2<attention>|<neg>~2<care>)"
)
# Not "if you do not follow": that is a warning.
_NOT_FOLLOW = "<neg>(?<!<you>.)(?<!<you><do>.)~2<follow>"
_STOP_FOLLOWING = "(?:<stop>~2<follow>|<neg>~1<follow><stop>)"
_AWAY = f"{_IGNORE[:-1]}|{_NOT_FOLLOW})"
_OVERRIDE = "(?:<override>|<turn><off>)"
_DROP = f"{_IGNORE[:-1]}|<override>|<erase>(?<!<aux>.)|<replace>|<remove>)"
# At the start of a sentence, where only an order can stand.
_ORDERED = "<ignore>(?<![^|].)"
# Not "never forget what you were told".
_IGNORE_INDEED = "<ignore>(?<!<aux>.)(?<!<neg>.)(?<!<neg>..)"
_TO_IGNORE = "(?:<must>~2(?:<ignored>|<ignore>))"
_EARLIER = "(?:<told>|<instructed>|<before>)"
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
    "<override>~5<instr>~3(?:<before>|<past>)",
    f"{_IGNORE}~8<instr>~5(?:<before>|<told>|<past>|<system>)",
    f"{_IGNORE}~6(?:<past>|<existing>|<before>)~4(?:<instr>|<orders>|<prompt>)",
    "(?:<past>|<existing>|<your>)~2<instr>~8<ignore>(?<!<aux>.)",
    f"{_ORDERED}~2<instr>",
    f"{_ORDERED}~2<rules>~1<instead>",
    f"{_NOT_FOLLOW}~3<instr>~4<system>",
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
    f"{_IGNORE}~3<before>{_THEN}",
    f"{_IGNORE}<the>?<prior>(?:{_THEN}|<from>)",
    f"{_IGNORE}~2<all>~2<instr>",
    f"{_IGNORE}~2<past>~1<context>",
    f"{_IGNORE}~2<context>~1<past>",
    f"{_IGNORE}~2<your>~1<past>~1<matter>",
    f"{_IGNORE}<the>?<talk><instead>",
    f"{_IGNORE}<the>?<matter><instead>(?:<respond>|<produce>)",
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
    f"{_DROP}~4<your>{_KIND}{{0,3}}(?:<instr>|<prompt>(?!<action>))",
    f"{_DROP}~3<informal>~2(?:<instr>|<rules>|<limits>|<ethics>)",
    f"{_IGNORE}~2<your>{_KIND}{{1,3}}(?:<task>|<matter>)",
    "<override>~4<instr>~3<you>~3<told>",
    f"{_IGNORE}~2<your>~1<makers>",
    f"{_STOP_FOLLOWING}~2<your>~1<makers>",
    f"{_IGNORE}~1<all>~3<talk>",
    f"{_IGNORE}~2<what>~2<ai>",
    f"{_IGNORE}~2<you>~1<are>~3(?:<ai>|<assistant>)",
    f"{_IGNORE_INDEED}~1<what><you>~2<told>~1{_THEN}",
    f"{_IGNORE}~2<past>~1<matter><instead>~2(?:<respond>|<produce>)",
    f"{_IGNORE}~2<all>~1<limits>",
    f"{_NOT_FOLLOW}~2<what>~5<before>",
    f"{_NOT_FOLLOW}~2<informal>~2(?:<instr>|<rules>)",
    f"<longer>~4<follow>~3{_LAID_DOWN}",
    "<neg>~1<take>~5<instr>~3<account>",
    "<set>~6<instr>~2<aside>",
    "<act>~6<past>~1<instr>",
    "<become>~4<you>~4<no>~1<instr>",
    "<follow>~1<only>~1<my>~1<instr>",
    "<only>~1<follow>~1<my>~1<instr>",
    "<precedence>~2<instr>~2<all>~2<other>",
    "<instr>~1<precedence>~2<all>~2<other>",
    "<you>~3<no>~3<your>~3(?:<instr>|<rules>)",
    "<your>(?:<instr>|<rules>|<limits>)~1<isare>~1(?:<off>|<void>)",
    # erase, replace, void
    "<erase>(?<!<aux>.)~3<your>~1<past>~1(?:<instr>|<rules>)",
    "<erase>(?<!<aux>.)~1<all>~3<past>~1<instr>",
    "<erase>(?<!<aux>.)~1(?:<all>|<your>)~2<instr>~1<past>",
    "<erase>(?<!<aux>.)~1<your>~1<ctx>",
    "<erase>(?<!<aux>.)~1<all>~1<instr>",
    "<erase>(?<!<aux>.)~2<system>~1<prompt>",
    "<replace>~1<all>~3<past>~1<instr>",
    f"<your>~1<past>~1(?:<rules>|<instr>)~1{_GONE}",
    f"{_LAID_DOWN}~3<you>~3<told>~3{_GONE}",
    f"{_LAID_DOWN}~1<told>~1<before>~1{_GONE}",
    f"<your><instr>~2(?:<existing>|<past>)~1{_GONE}",
    "<erase>(?<!<aux>.)~3<past>~1<instr>",
    "<treat>~5<before>~2<as><void>",
    "<replace>~1<your><instr>",
    f"<all>~3<past>~1<instr>~1{_GONE}",
    f"<all>~2<instr>~1<past>~1{_GONE}",
    f"<your>(?:<past>|<existing>)<instr>~1{_GONE}",
    f"<past>~1<instr>~1{_VOID}",
    f"<instr>~1<past>~1{_VOID}",
    "<the><instr>~1<replace>~1<all>~3(?:<other>|<past>)",
    "<precedence>~2<all>~4<instr>",
    "<precedence>~1<all><before>",
    # the instructions above are outdated, disregard them
    f"<instr>~3<past>~4{_AWAY}~1<them>",
    f"<past>~2<instr>~4{_AWAY}~1<them>",
    f"<told>~3{_IGNORE}<them>",
    f"<your>{_KIND}{{0,3}}<instr>~8{_AWAY}~1<them>",
    f"(?:<past>|<existing>|<system>|<your>)~1(?:<instr>|<prompt>)~8[|]~2{_IGNORE}~1<them>",
    f"<instr>~3(?:<told>|<before>|<past>)~6[|]~2{_IGNORE}~1<them>",
    f"<all>~6{_EARLIER}~4{_TO_IGNORE}",
    f"<instr>~6{_TO_IGNORE}",
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
    f"{_IGNORE}<all><instead>",
    f"{_IGNORE}~1(?:<past>|<existing>)<ones>",
    f"{_IGNORE}~1<who>~1<you>~1<are>",
    "<only>~1<follow>~2<instr>",
    "(?:<instr>|<rules>)~1<override>~2(?:<past>|<existing>)",
    f"{_NOT_FOLLOW}~1<your><instr>",
    f"{_NOT_FOLLOW}~1<all>~1<instr>",
    "<replace>~3<past>~1<instr>",
    "<replace>~3<instr>~1<past>",
    "<erase>(?<!<aux>.)~3<past>~1<instr>",
    "<erase>(?<!<aux>.)~3<instr>~1<past>",
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
