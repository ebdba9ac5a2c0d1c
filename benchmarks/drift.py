"""How often another text in the place of an approved one is held, and how often one that was edited.

`python -m benchmarks.drift [--write]`: a few seconds. It ends with exit code 1 where a floor is missed.
"""

import itertools
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.evaluation_sets import load
from benchmarks.quarantine import Count
from benchmarks.report import machine, publish, table, wanted
from eai.quarantine.detectors.drift import DRIFT
from eai.quarantine.ports import Former, Severity, Specimen

PASSAGES = 5
SETS = {"en": "xquad-en", "fr": "piaf-fr"}
SLOWLY = 0.02
"""The share of the words that each version of a slow change has in the place of others."""
LEAST_HELD = 0.95
_RUNS = 5


@dataclass
class Measured:
    """What became of one change to every document of a language."""

    change: str
    language: str
    held: Count = field(default_factory=Count)
    noticed: Count = field(default_factory=Count)

    def add(self, severity: Severity | None) -> None:
        self.held.add(found=severity is not None and severity.reaches(Severity.HIGH))
        self.noticed.add(found=severity is not None)


@dataclass(frozen=True)
class Shelf:
    """Documents of a few passages each, in one language, and dice that fall alike in every run."""

    documents: Sequence[str]
    dice: random.Random

    @classmethod
    def of(cls, name: str) -> "Shelf":
        passages = load(name).passages
        starts = range(0, len(passages) - PASSAGES + 1, PASSAGES)
        return cls(
            ["\n\n".join(passages[at : at + PASSAGES]) for at in starts],
            random.Random(0),
        )

    def reworded(self, text: str, share: float, strangers: Sequence[str]) -> str:
        """With so many of the words, though at least one, in the place of any others."""
        words = text.split(" ")
        for place in self.dice.sample(range(len(words)), max(round(share * len(words)), 1)):
            words[place] = self.dice.choice(strangers)
        return " ".join(words)

    def other(self, document: str, away: int | None = None) -> str:
        """The document so many places behind, by default half of them: about something else."""
        count = len(self.documents)
        return self.documents[(self.documents.index(document) + (away or count // 2)) % count]


def edits(shelf: Shelf) -> Mapping[str, Callable[[str], str]]:
    """What people do to a text that goes on being the same."""

    def renumbered(document: str) -> str:
        return re.sub(r"\d", lambda _: str(shelf.dice.randrange(10)), document)

    def halved(document: str) -> str:
        sentences = re.split(r"(?<=[.!?])\s+", document)
        kept = sorted(shelf.dice.sample(range(len(sentences)), (len(sentences) + 1) // 2))
        return " ".join(sentences[at] for at in kept)

    def shuffled(document: str) -> str:
        return "\n\n".join(shelf.dice.sample(parts := document.split("\n\n"), len(parts)))

    def reworded(share: float) -> Callable[[str], str]:
        return lambda document: shelf.reworded(document, share, shelf.other(document).split())

    return {
        "other digits": renumbered,
        "half of the sentences taken away": halved,
        "paragraphs in another order": shuffled,
        **{
            f"{share:.0%} of the words others".replace("%", " %"): reworded(share)
            for share in (0.1, 0.2, 0.3)
        },
        "as much again added": lambda document: f"{document}\n\n{shelf.other(document)}",
    }


def rewritings(shelf: Shelf) -> Mapping[str, Callable[[str], str]]:
    """What may be either."""
    return {
        "half of the words others": lambda document: shelf.reworded(
            document, 0.5, shelf.other(document).split()
        ),
        "four times as much added": lambda document: "\n\n".join(
            [document, *(shelf.other(document, away) for away in range(5, 9))]
        ),
    }


def replacements(shelf: Shelf) -> Mapping[str, Callable[[str], str]]:
    """Another text under the same name."""
    return {
        "another text": shelf.other,
        "the next passages, often of the same article": lambda document: shelf.other(document, 1),
        "another text behind the first ten words": lambda document: " ".join(
            [*document.split(" ")[:10], shelf.other(document)]
        ),
    }


def severity(document: str, former: str) -> Severity | None:
    """How grave it is that `document` takes the place of an approved text."""
    found = list(DRIFT.marks(Specimen(document, document, former=Former(former, document, is_approved=True))))
    return found[0].severity if found else None


def measure(changes: Callable[[Shelf], Mapping[str, Callable[[str], str]]]) -> Iterator[Measured]:
    for language, name in SETS.items():
        shelf = Shelf.of(name)
        for change, changed in changes(shelf).items():
            measured = Measured(change, language)
            for document in shelf.documents:
                measured.add(severity(changed(document), document))
            yield measured


def versions_until_held(shelf: Shelf, document: str) -> int:
    """How many versions a slow change takes to be held, against the text that was approved."""
    text, strangers = document, shelf.other(document).split()
    for number in itertools.count(1):
        text = shelf.reworded(text, SLOWLY, strangers)
        if severity(text, document) is Severity.HIGH:
            return number
    raise AssertionError


def slowly() -> Mapping[str, Sequence[int]]:
    """The same for every document, by language."""
    shelves = {language: Shelf.of(name) for language, name in SETS.items()}
    return {
        language: [versions_until_held(shelf, document) for document in shelf.documents]
        for language, shelf in shelves.items()
    }


def speed() -> float:
    """Megabytes of new text per second of one core, beside a text as long; the best of a few runs."""
    shelf = Shelf.of(SETS["en"])
    pairs = [(document, shelf.other(document)) for document in shelf.documents]
    times = []
    for _ in range(_RUNS):
        started = time.process_time()
        for document, former in pairs:
            severity(document, former)
        times.append(time.process_time() - started)
    return sum(len(document.encode()) for document, _ in pairs) / min(times) / 1e6


def floors(edited: Sequence[Measured], replaced: Sequence[Measured]) -> dict[str, bool]:
    """What was asked for, and whether it holds."""
    kept = {f"{one.change}, {one.language}: none held": not one.held.found for one in edited}
    found = {
        f"{one.change}, {one.language}: at least 95 %": one.held.found >= LEAST_HELD * one.held.of
        for one in replaced
    }
    return {**kept, **found}


def report(
    edited: Sequence[Measured],
    between: Sequence[Measured],
    replaced: Sequence[Measured],
    slow: Mapping[str, Sequence[int]],
    rate: float,
) -> str:
    """The section of docs/benchmarks.md."""
    head = ["what becomes of an approved text", "language", "held", "anything found"]
    every = (*edited, *between, *replaced)
    of_versions = [
        [language, str(len(took)), f"{min(took)} to {max(took)}", f"{median(took):g}"]
        for language, took in slow.items()
    ]
    sections = [
        "## Drift",
        "`python -m benchmarks.drift --write`",
        _EXPLAINED.strip(),
        table(head, ([one.change, one.language, str(one.held), str(one.noticed)] for one in every)),
        f"Versions until a text is held of which each has {SLOWLY:.0%} of its words in the place of others, "
        "compared with the one that was approved:".replace("%", " %"),
        table(["language", "documents", "versions", "median"], of_versions),
        f"Speed: {rate:.1f} MB of new text per second of processor time ({machine()}).",
        "What was asked for:",
        "\n".join(f"- {wanted(what, holds=holds)}" for what, holds in floors(edited, replaced).items()),
    ]
    return "\n\n".join(sections)


_EXPLAINED = f"""
Documents of {PASSAGES} passages of xquad-en or piaf-fr, each let pass by a steward and then changed. Held is
what is at least `high`, for which next to nothing of the text may be in the approved one. Intervals are
Wilson's, at 95 %. The shares were chosen for what they mean, before this was run, and not tuned.
"""


def main() -> int:
    edited, between, replaced = (list(measure(each)) for each in (edits, rewritings, replacements))
    section = report(edited, between, replaced, slowly(), speed())
    publish("drift", section, write="--write" in sys.argv[1:])
    return 0 if all(floors(edited, replaced).values()) else 1


if __name__ == "__main__":
    sys.exit(main())
