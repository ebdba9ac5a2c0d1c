"""How much of what is meant for models the detectors find, and how much of the rest they leave alone.

`python -m benchmarks.quarantine [--write]`: under a minute. It ends with exit code 1 where a floor is missed.
"""

import hashlib
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks import quarantine_cases as cases
from benchmarks.evaluation_sets import folder, load
from benchmarks.quarantine_techniques import HONEST, techniques
from benchmarks.report import machine, publish, table, wanted
from eai.ingestion.extraction import extract
from eai.quarantine.catalogue import DETECTORS
from eai.quarantine.detectors.drift import DRIFT
from eai.quarantine.examination import examine
from eai.quarantine.ports import Finding, Severity
from eai.quarantine.specimen import Specimen

HELD_FROM = Severity.HIGH
SLOWEST_MB_S = 1.0
_Z = 1.96
_RUNS, _PASSAGES = 5, 25
HIDING = frozenset(
    "zero_width bidi tags variation_selectors homoglyphs encoded hidden_markup markdown_hiding".split()
)
FAMILIES: Mapping[str, tuple[str, Mapping[str, Sequence[str]]]] = {
    "override": ("explicit overrides", cases.OVERRIDES),
    "jailbreak": ("jailbreak role play", cases.JAILBREAKS),
    "prompt_extraction": ("prompt extraction", cases.PROMPT_EXTRACTIONS),
    "exfiltration": ("exfiltration", cases.EXFILTRATIONS),
    "tool_abuse": ("tool abuse", cases.TOOL_ABUSES),
    "abnormal_instructions": ("abnormal instructions", cases.ABNORMAL),
    "boundaries": ("fake boundaries", cases.BOUNDARIES),
}
LEAST_FOUND = 0.95
BELONGING = "joiners, hyphens, flags, emoji"
HARMLESS = (
    "passages of xquad-en",
    "passages of piaf-fr",
    "notinject-benign-half",
    "own harmless sentences",
    "own harmless sentences, later",
)
MOST_HELD = {
    "passages of xquad-en": 0.01,
    "passages of piaf-fr": 0.01,
    "notinject-benign-half": 0.05,
    BELONGING: 0.0,
}
WITH_FLOOR = ("override", "jailbreak", "prompt_extraction")


class Text(NamedTuple):
    """A document as ingestion would have it."""

    source: str
    content_type: str = "text/plain"

    @property
    def specimen(self) -> Specimen:
        return Specimen(extract(self.source.encode(), self.content_type), self.source, self.content_type)

    @property
    def was_seen(self) -> bool:
        """Whether it was in the half that was looked at while the detectors were written."""
        return hashlib.sha256(self.source.encode()).digest()[0] % 2 == 0


@dataclass
class Count:
    """How many of how many."""

    found: int = 0
    of: int = 0

    def add(self, *, found: bool) -> None:
        self.found += found
        self.of += 1

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, at 95 %."""
        if not self.of:
            return 0.0, 1.0
        share, square = self.found / self.of, _Z**2
        middle = (share + square / (2 * self.of)) / (1 + square / self.of)
        reach = (
            _Z * math.sqrt(share * (1 - share) / self.of + square / (4 * self.of**2)) / (1 + square / self.of)
        )
        return max(middle - reach, 0.0), min(middle + reach, 1.0)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.found}/{self.of} ({low:.1%} to {high:.1%})" if self.of else ""


@dataclass
class Measured:
    """A set: how much of it is held, in all, in either half, and by which detector."""

    name: str
    language: str
    held: Count = field(default_factory=Count)
    seen: Count = field(default_factory=Count)
    unseen: Count = field(default_factory=Count)
    noticed: Count = field(default_factory=Count)
    by_detector: dict[str, int] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)

    def add(self, text: Text, findings: Iterable[Finding]) -> None:
        every = list(findings)
        grave = {one.detector for one in every if one.severity.reaches(HELD_FROM)}
        for count in (self.held, self.seen if text.was_seen else self.unseen):
            count.add(found=bool(grave))
        self.noticed.add(found=bool(every))
        for name in grave:
            self.by_detector[name] = self.by_detector.get(name, 0) + 1
        if not grave:
            self.missed.append(text.source)


def measure(
    name: str, language: str, texts: Iterable[Text], *, only: frozenset[str] | None = None
) -> Measured:
    """Every text through every detector; `only` the findings of some of them count."""
    measured = Measured(name, language)
    for text in texts:
        found = examine(text.specimen)
        measured.add(text, [one for one in found if only is None or one.detector in only])
    return measured


def given(name: str, label: str) -> Iterator[Text]:
    """The given texts of one label."""
    path = folder().parent / "injection" / f"{name}.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["label"] == label:
            yield Text(row["text"])


def attacks() -> Iterator[Measured]:
    for name, of_language in FAMILIES.values():
        for language, texts in of_language.items():
            yield measure(name, language, map(Text, texts))
    for detector, of_language in cases.ROUNDS["last"].items():
        for language, texts in of_language.items():
            yield measure(f"{FAMILIES[detector][0]}, last round", language, map(Text, texts))
    yield measure("injecguard-valid, injections", "en", given("injecguard-valid", "injection"))
    yield measure("bipia-instructions", "en", given("bipia-instructions", "injection"))


def harmless() -> Iterator[Measured]:
    yield measure("passages of xquad-en", "en", map(Text, load("xquad-en").passages))
    yield measure("passages of piaf-fr", "fr", map(Text, load("piaf-fr").passages))
    yield measure("notinject-benign-half", "en", given("notinject-benign-half", "benign"))
    yield measure("injecguard-valid, benign", "en", given("injecguard-valid", "benign"))
    for language, texts in cases.HARMLESS.items():
        yield measure("own harmless sentences", language, map(Text, texts))
    for language, texts in cases.HARMLESS_LATER.items():
        yield measure("own harmless sentences, later", language, map(Text, texts))
    yield measure(BELONGING, "all", map(Text, HONEST.values()))


def hidden() -> Iterator[Measured]:
    for language in ("en", "fr"):
        every = list(techniques(language))
        for content_type in ("text/plain", "text/markdown", "text/html"):
            texts = (Text(source, kind) for _, kind, source in every if kind == content_type)
            yield measure(content_type, language, texts, only=HIDING)


def speed() -> float:
    """Megabytes of prose per second of one core, the best of a few runs over documents of some pages."""
    passages = [*load("xquad-en").passages, *load("piaf-fr").passages]
    starts = range(0, len(passages), _PASSAGES)
    documents = ["\n\n".join(passages[start : start + _PASSAGES]) for start in starts]
    times = []
    for _ in range(_RUNS):
        started = time.process_time()
        for document in documents:
            examine(Specimen.plain(document))
        times.append(time.process_time() - started)
    return sum(len(document.encode()) for document in documents) / min(times) / 1e6


def floors(
    found: Sequence[Measured], quiet: Sequence[Measured], unseen: Sequence[Measured]
) -> dict[str, bool]:
    """What was asked for, and whether it holds."""
    grave = {FAMILIES[name][0] for name in WITH_FLOOR}
    asked = {}
    for one in found:
        if one.name in grave:
            asked[f"{one.name}, {one.language}: at least 95 %"] = _share(one.held) >= LEAST_FOUND
    for one in quiet:
        if one.name in MOST_HELD:
            most = MOST_HELD[one.name]
            asked[f"{one.name}: at most {most:.0%}".replace("%", " %")] = _share(one.held) <= most
    for one in unseen:
        asked[f"hidden in {one.name}, {one.language}: all"] = one.held.found == one.held.of
    return asked


def _rounds(found: Sequence[Measured]) -> str:
    """What each round of sentences showed before it was tuned on, and the last one as it is."""
    last = [one.held for one in found if one.name.endswith("last round")]
    counts = {name: Count(*counted) for name, counted in cases.HELD_WHEN_FIRST_RUN.items()}
    counts["last"] = Count(sum(one.found for one in last), sum(one.of for one in last))
    return table(["round", "held when first run"], ([name, str(count)] for name, count in counts.items()))


def _share(count: Count) -> float:
    return count.found / count.of


def _rows(sets: Sequence[Measured]) -> Iterator[list[str]]:
    for one in sets:
        yield [one.name, one.language, str(one.held), str(one.seen), str(one.unseen), str(one.noticed)]


def _by_detector(
    found: Sequence[Measured], quiet: Sequence[Measured], unseen: Sequence[Measured]
) -> Iterator[list[str]]:
    """Each detector on cases of its own, and on what is harmless, in either language."""
    for detector in DETECTORS:
        if detector is DRIFT:
            continue  # it compares, and has a benchmark of its own
        family = FAMILIES.get(detector.name, ("", {}))[0]
        cells = []
        for language in ("en", "fr"):
            own = [one for one in (*found, *unseen) if one.language == language]
            own = [one for one in own if one.name == family or (detector.name in HIDING and one in unseen)]
            honest = [one for one in quiet if one.language == language and one.name in HARMLESS]
            cells += [_sum(own, detector.name, by_itself=not family), _sum(honest, detector.name)]
        yield [f"`{detector.name}` {detector.version}", *cells]


def _sum(sets: Sequence[Measured], detector: str, *, by_itself: bool = False) -> str:
    """Of techniques, only the number: no detector is meant for all of them."""
    count = Count(sum(one.by_detector.get(detector, 0) for one in sets), sum(one.held.of for one in sets))
    return f"{count.found}" if by_itself else str(count)


def report(
    found: Sequence[Measured], quiet: Sequence[Measured], unseen: Sequence[Measured], rate: float
) -> str:
    """The section of docs/benchmarks.md."""
    head = ["set", "language", "held", "half that was looked at", "other half", "anything found"]
    of_formats = ([one.name, one.language, str(one.held)] for one in unseen)
    asked = {**floors(found, quiet, unseen), f"{SLOWEST_MB_S:g} MB/s": rate >= SLOWEST_MB_S}
    sections = [
        "## Quarantine",
        "`python -m benchmarks.quarantine --write`",
        _EXPLAINED.strip(),
        table(head, _rows(found)),
        _ROUND_BY_ROUND.strip(),
        _rounds(found),
        "What must be let through:",
        table(head, _rows(quiet)),
        "Techniques of hiding text, in each format that has them, held by a detector of hidden text alone:",
        table(["format", "language", "held"], of_formats),
        _ONE_BY_ONE.strip(),
        table(["detector, version", *_COLUMNS], _by_detector(found, quiet, unseen)),
        f"Speed: {rate:.1f} MB of prose per second of processor time ({machine()}). What was asked for:",
        "\n".join(f"- {wanted(what, holds=holds)}" for what, holds in asked.items()),
        _TRUSTED.strip(),
    ]
    return "\n\n".join(sections)


_ROUND_BY_ROUND = """
More sentences of the three kinds with a floor were written in rounds by the same authors, each in one go.
What a round showed when first run, before anything was tuned on it, is the best guess at what is held of
sentences that nobody here has seen. Nothing was tuned after the last one:
"""
_COLUMNS = ("own cases, en", "harmless, en", "own cases, fr", "harmless, fr")
_ONE_BY_ONE = """
What each detector holds by itself: of the sentences written for it or, without an interval, of the techniques
above; and of all harmless texts in the language but those of injecguard.
"""
_EXPLAINED = f"""
A text is held where a finding is at least `{HELD_FROM}`. Intervals are Wilson's, at 95 %. Each set is cut in
half by a hash of its texts: one half was looked at while the detectors were tuned, what they miss or hold in
the other half never.
"""

_TRUSTED = """
How far to trust it: the sentences of our own were written by those who wrote the detectors, before tuning
them; they show that a grammar generalises from one half to the other, not how attackers write. Most of
`bipia-instructions` are harmless tasks ("Reply in German") that only an application can know to be out of
place; they are reported, and no floor is set for them. Known gaps: languages other than English and French,
instructions that are only implied by a story, and pictures.
"""


def main() -> int:
    found, quiet, unseen = list(attacks()), list(harmless()), list(hidden())
    rate = speed()
    publish("quarantine", report(found, quiet, unseen, rate), write="--write" in sys.argv[1:])
    if "--missed" in sys.argv[1:]:
        for one in unseen:
            print(*one.missed, sep="\n")
    return 0 if all(floors(found, quiet, unseen).values()) and rate >= SLOWEST_MB_S else 1


if __name__ == "__main__":
    sys.exit(main())
