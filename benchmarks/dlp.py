"""What DLP finds of entities with valid check digits, and how fast, with and without its cheap looks.

`python -m benchmarks.dlp [--write]`: under a minute. It ends with exit code 1 where a floor is missed.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.dlp_cases import ENTITIES, SENTENCES
from benchmarks.evaluation_sets import load
from benchmarks.report import machine, publish, table, wanted
from eai.dlp.normalisation import normalise
from eai.dlp.passage import Passage
from eai.dlp.recognition import RECOGNISERS, Found, Recogniser, recognise

FASTEST_CHARACTERS_S = 500_000
LEAST_RECALL = 0.99
PER_ENTITY = 100
_SETS = {"en": "xquad-en", "fr": "piaf-fr"}
_RUNS = 3
_PROSE = 1_000_000


class Labelled(NamedTuple):
    """A text, and where the one entity that was put into it stands."""

    text: str
    entity: str
    start: int
    end: int


@dataclass(frozen=True)
class Thorough:
    """A recogniser that looks at everything."""

    inner: Recogniser

    @property
    def entity(self) -> str:
        return self.inner.entity

    @property
    def reach(self) -> int:
        return self.inner.reach

    def may_hold(self, passage: Passage) -> bool:
        """Of each text."""
        return passage is not None

    def find(self, passage: Passage) -> Iterable[tuple[int, int]]:
        """Whatever the inner one finds."""
        return self.inner.find(passage)


THOROUGH = [Thorough(each) for each in RECOGNISERS]


def labelled(language: str, passages: Sequence[str]) -> Iterator[Labelled]:
    """Each entity so many times, in a sentence in the middle of a passage."""
    draw = random.Random(f"dlp {language}")
    for entity, make in ENTITIES.items():
        for _ in range(PER_ENTITY):
            before, after = draw.sample(passages, 2)
            number = make(draw)
            opening, ending = draw.choice(SENTENCES[language][entity]).split("{}")
            start = len(before) + 1 + len(opening)
            yield Labelled(f"{before} {opening}{number}{ending} {after}", entity, start, start + len(number))


def spans(text: str, recognisers: Sequence[Recogniser]) -> list[Found]:
    """What is found, placed in the text as it was given."""
    read = normalise(text)
    found = recognise([read.text], recognisers)
    return [each._replace(start=start, end=end) for each in found for start, end in [read.origin(*each[1:3])]]


def characters_per_s(texts: Sequence[str]) -> float:
    """Of processor time: the best of a few runs."""
    best = 0.0
    for _ in range(_RUNS):
        started = time.process_time()
        for text in texts:
            spans(text, RECOGNISERS)
        best = max(best, sum(map(len, texts)) / (time.process_time() - started))
    return best


def main() -> int:
    prose = {language: load(name).passages for language, name in _SETS.items()}
    cases = {language: list(labelled(language, passages)) for language, passages in prose.items()}
    texts = [case.text for each in cases.values() for case in each]
    fast = {text: spans(text, RECOGNISERS) for text in texts}
    is_same = all(spans(text, THOROUGH) == found for text, found in fast.items())
    rates = {
        "prose": characters_per_s([text for each in prose.values() for text in each[: _PROSE // 1_000]]),
        "an entity in each text": characters_per_s(texts),
    }
    in_prose = {
        language: Counter(str(each.entity) for text in passages for each in spans(text, RECOGNISERS))
        for language, passages in prose.items()
    }
    rows, recalls = [], []
    for entity in ENTITIES:
        cells = []
        for language, own in cases.items():
            mine = [case for case in own if case.entity == entity]
            hits = sum((0, case.start, case.end, entity) in fast[case.text] for case in mine)
            recalls.append(hits / len(mine))
            quiet = in_prose[language][entity]
            cells += [f"{hits} of {len(mine)}", f"{quiet} in {len(prose[language])}"]
        rows.append([f"`{entity}`", *cells])
    slowest = min(rates.values())
    publish("dlp", _report(rows, rates, is_same=is_same, recalls=recalls), write="--write" in sys.argv[1:])
    return 0 if is_same and slowest >= FASTEST_CHARACTERS_S and min(recalls) >= LEAST_RECALL else 1


def _report(
    rows: Sequence[Sequence[str]], rates: dict[str, float], *, is_same: bool, recalls: Sequence[float]
) -> str:
    head = ["entity", "found, en", "in passages as they are, en", "found, fr", "in passages as they are, fr"]
    speeds = [[name, f"{rate:,.0f}"] for name, rate in rates.items()]
    asked = {
        f"{FASTEST_CHARACTERS_S:,} characters/s": min(rates.values()) >= FASTEST_CHARACTERS_S,
        "the same findings without the cheap looks": is_same,
        f"a recall of {LEAST_RECALL:g} for each entity and language": min(recalls) >= LEAST_RECALL,
    }
    sections = [
        "## DLP",
        "`python -m benchmarks.dlp --write`",
        _EXPLAINED.strip(),
        table(head, rows),
        table(["text", "characters per second of one core"], speeds),
        f"On {machine()}. What was asked for:",
        "\n".join(f"- {wanted(what, holds=holds)}" for what, holds in asked.items()),
    ]
    return "\n\n".join(sections)


_EXPLAINED = f"""
{PER_ENTITY} of each entity and language, made with valid check digits and written in the usual ways, each in
a sentence between two passages of `xquad-en` or `piaf-fr`; found is what was found with its exact place. The
other columns count what is found in those passages as they are. The sentences and spellings are our own:
they show that forms and checks are right, not how often people write others.
"""


if __name__ == "__main__":
    sys.exit(main())
