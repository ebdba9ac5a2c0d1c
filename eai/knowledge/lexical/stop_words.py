"""Words that say how a sentence is built and not what it is about, folded as `words` folds.

They are indexed like any other word and dropped from a question only, so that a question made of
nothing else ("who is it?") still finds something.
"""

from collections.abc import Mapping

from eai.knowledge.lexical.language import Language

_ENGLISH = """
    a about above after again against all also although am among an and any are aren as at be because
    been before being below between both but by can cannot could couldn did didn do does doesn doing don
    done down during each either else every few for from further had hadn has hasn have haven having he
    her here hers herself him himself his how however i if in into is isn it its itself let many me more
    most much must my myself neither no nor not of off on once only onto or other our ours ourselves out
    over own per please rather same shall she should shouldn since so some such than that the their theirs
    them themselves then there these they this those though through to too under until up upon very via
    was wasn we were weren what when where whether which while who whom whose why will with within without
    won would wouldn yet you your yours yourself yourselves
"""

_FRENCH = """
    a afin ai ainsi alors apres as au aucun aucune aujourd auquel aussi autre autres aux auxquelles
    auxquels avaient avais avait avant avec avez avoir avons ayant beaucoup ce ceci cela celle celles
    celui cependant certain certaine certaines certains ces cet cette ceux chaque chez ci combien comme
    comment dans de depuis des donc dont du duquel elle elles en encore entre es est et etaient etais
    etait etant ete etes etre eu eux fait faut furent fut hui ici il ils jamais je jusque la laquelle le
    lequel les lesquelles lesquels leur leurs lors lorsque lui ma mais malgre me meme memes mes mien moi
    moins mon ne ni non nos notre nous on ont ou par parce parmi pas pendant peu peut peuvent plus pour
    pourquoi pourtant puis puisque quand que quel quelle quelles quelque quelques quels qui quoi quoique
    sa sans sauf se selon sera seront ses si sien soi soit sommes son sont sous suis sur ta tandis te tel
    telle telles tels tes toi ton tous tout toute toutes tres tu un une vers voici voila vos votre vous y
"""

STOP_WORDS: Mapping[Language, frozenset[str]] = {
    Language.ENGLISH: frozenset(_ENGLISH.split()),
    Language.FRENCH: frozenset(_FRENCH.split()),
    Language.OTHER: frozenset(),
}
