"""How much of what is made to be near everything, or belongs elsewhere, is found by its vectors.

`python -m benchmarks.beside_the_base [--write]`: some ten minutes. It ends with exit code 1 where a floor is
missed.
"""

import asyncio
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation_sets import load
from benchmarks.quarantine import Count, given
from benchmarks.report import machine, publish, table, wanted
from eai.gateway.ports import Embedder, EmbeddingRole
from eai.integrations.local_models import E5Embedder, HashEmbedder, SentenceEmbedder
from eai.quarantine.detectors.hubs import HUBS, Hubs
from eai.quarantine.detectors.outliers import OUTLIERS, Outliers
from eai.quarantine.examination import compare
from eai.quarantine.neighbourhood import MOST_KNOWN, Neighbourhood, Vectors, deviations, neighbourhoods
from eai.quarantine.ports import Mark, PassageDetector, Reason, Severity
from eai.quarantine.specimen import Specimen

MODEL = "local-e5-384"
EVERY = {"xquad-en": 1, "piaf-fr": 3}
"""Of which set each so-manyth passage is in the base: the model takes a third of a second for one."""
CRAFTED, CLIMBED = 40, 6
LONGEST = 800
"""Characters of a passage, unless its base says otherwise."""
FOLDS, PAGES = 8, 5
HELD_BACK = ("sentences picked by their vectors", "sentences tried one by one on the model")
USUAL = "passages of the base"
STEPS = (1.5, 1.75, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.75, 3.0, 3.5)
LEAST_FOUND, MOST_USUAL = 0.5, 0.01
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")


@dataclass(frozen=True)
class MeanCosine:
    """Another way to tell a hub: how near it is to all, beside how near those are to each other."""

    far_above: float
    name, version = "mean_cosine", 1

    def marks(self, neighbourhood: Neighbourhood) -> Iterator[Mark]:
        # Without the cosine of each to itself, which stands there as -1.
        own = (neighbourhood.within.sum(axis=1) + 1) / (len(neighbourhood.within) - 1)
        above = deviations(own, neighbourhood.towards.mean(axis=1), least=0.005)
        for at in np.flatnonzero(above > self.far_above):
            yield Mark(Reason.NEAR_EVERYTHING, Severity.MEDIUM, *neighbourhood.spans[int(at)])


class Vectorised:
    """A model that is asked for each text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            answer = asyncio.run(self._embedder.embed(new, EmbeddingRole.DOCUMENT))
            self._known |= dict(zip(new, answer.vectors, strict=True))
        return np.stack([self._known[text] for text in texts])


@dataclass(frozen=True)
class Shelf:
    """Passages of one base, the questions that they answer, and dice that fall alike in every run."""

    name: str
    passages: Sequence[str]
    questions: Sequence[str]

    @classmethod
    def of(cls, name: str) -> "Shelf":
        whole = load(name)
        rows = range(0, len(whole.passages), EVERY[name])
        asked = [
            question
            for question, answers in zip(whole.questions, whole.answers, strict=True)
            if any(row in rows for row in answers)
        ]
        return cls(name, [whole.passages[row] for row in rows], asked)

    @property
    def dice(self) -> random.Random:
        return random.Random(self.name)

    @property
    def sentences(self) -> list[str]:
        """The first of each passage."""
        return [_SENTENCE.split(passage)[0][:200] for passage in self.passages]

    def crafted(self) -> Mapping[str, Sequence[str]]:
        """What anybody can write who knows some of the base and has no model."""
        dice = self.dice
        counted = Counter(word for each in self.passages for word in {*_LONG_WORD.findall(each.lower())})
        words = sorted(counted, key=lambda word: (-counted[word], word))[:120]
        kinds = {
            "ten questions": (self.questions, 10),
            "six first sentences": (self.sentences, 6),
            "sixty frequent words": (words, 60),
        }
        return {
            kind: [" ".join(dice.sample(parts, count))[:LONGEST] for _ in range(CRAFTED)]
            for kind, (parts, count) in kinds.items()
        }

    def picked(self, vectorised: Vectorised, middle: Vectors) -> Iterator[str]:
        """Five of sixty sentences, picked one by one so that the mean of their vectors is near the middle."""
        dice, sentences = self.dice, self.sentences
        known = vectorised(sentences)
        for _ in range(CRAFTED):
            offered, chosen = dice.sample(range(len(sentences)), 60), list[int]()
            for _step in range(5):
                sums = known[chosen].sum(axis=0) + known[offered]
                nearness = sums @ middle / np.linalg.norm(sums, axis=1)
                chosen.append(offered.pop(int(nearness.argmax())))
            yield " ".join(sentences[at] for at in chosen)[:LONGEST]

    def climbed(self, vectorised: Vectorised, middle: Vectors) -> Iterator[str]:
        """Five sentences, each the one of sixteen with which the whole text comes nearest to the middle."""
        dice, sentences = self.dice, self.sentences
        for _ in range(CLIMBED):
            text = ""
            for _step in range(5):
                tried = [f"{text} {each}".strip()[:LONGEST] for each in dice.sample(sentences, 16)]
                text = tried[int((vectorised(tried) @ middle).argmax())]
            yield text


@dataclass(frozen=True)
class Base:
    """The vectors of a base, and the texts and vectors that are tried on it, by kind."""

    name: str
    known: Vectors
    hubs: Mapping[str, tuple[Sequence[str], Vectors]]
    strangers: Mapping[str, tuple[Sequence[str], Vectors]]
    passages: Sequence[str]

    def usual(self, detector: PassageDetector) -> NDArray[np.bool_]:
        """Which passages of the base are found beside the others, some of which are left out with them."""
        found = np.zeros(len(self.known), bool)
        for part in np.array_split(np.random.default_rng(0).permutation(len(self.known)), FOLDS):
            found[part] = marked(detector, self.known[part], np.delete(self.known, part, axis=0))
        return found


def marked(detector: PassageDetector, vectors: Vectors, known: Vectors) -> NDArray[np.bool_]:
    """Which of the passages are found."""
    found = np.zeros(len(vectors), bool)
    for part in neighbourhoods([(at, at + 1) for at in range(len(vectors))], vectors, known):
        for mark in detector.marks(part):
            found[mark.start] = True
    return found


def was_seen(text: str) -> bool:
    """Whether it is in the half that thresholds were chosen on."""
    return sha256(text.encode()).digest()[0] % 2 == 0


def strangers(vectorised: Vectorised, others: Sequence[str]) -> Mapping[str, tuple[Sequence[str], Vectors]]:
    """Texts that do not belong in a base of such passages, whatever they are."""
    kinds = {
        "passages in the other language": list(others),
        "injecguard-valid": [
            each.source for label in ("benign", "injection") for each in given("injecguard-valid", label)
        ],
        "bipia-instructions": [each.source for each in given("bipia-instructions", "injection")],
        "notinject-benign-half": [each.source for each in given("notinject-benign-half", "benign")],
    }
    return {kind: (texts, vectorised(texts)) for kind, texts in kinds.items() if texts}


def bases(vectorised: Vectorised, *, climbs: bool) -> list[Base]:
    """One for each set, and one of both."""
    shelves = [Shelf.of(name) for name in EVERY]
    made = []
    for shelf, other in zip(shelves, reversed(shelves), strict=True):
        known = vectorised(shelf.passages)
        middle = known.mean(axis=0)
        texts = dict(shelf.crafted())
        texts[HELD_BACK[0]] = list(shelf.picked(vectorised, middle))
        if climbs:
            texts[HELD_BACK[1]] = list(shelf.climbed(vectorised, middle))
        hubs = {kind: (each, vectorised(each)) for kind, each in texts.items()}
        made.append(Base(shelf.name, known, hubs, strangers(vectorised, other.passages[::3]), shelf.passages))
    first, second = made
    both = {
        kind: ([*first.hubs[kind][0], *second.hubs[kind][0]],
               np.concatenate([first.hubs[kind][1], second.hubs[kind][1]]))
        for kind in first.hubs
    }  # fmt: skip
    known = np.concatenate([first.known, second.known])
    made.append(Base("both", known, both, strangers(vectorised, ()), [*first.passages, *second.passages]))
    return made


Counts = dict[str, dict[bool, Count]]


def counted(
    base: Base, detector: PassageDetector, tried: Mapping[str, tuple[Sequence[str], Vectors]]
) -> Counts:
    """How many of each kind are found, by whether they were in the half that was looked at."""
    found = {kind: (texts, marked(detector, vectors, base.known)) for kind, (texts, vectors) in tried.items()}
    found[USUAL] = (base.passages, base.usual(detector))
    counts: Counts = {}
    for kind, (texts, which) in found.items():
        counts[kind] = {True: Count(), False: Count()}
        for text, is_found in zip(texts, which, strict=True):
            counts[kind][was_seen(text)].add(found=bool(is_found))
    return counts


def summed(counts: Sequence[Counts], kinds: Sequence[str], *, seen: bool) -> Count:
    parts = [of[kind][seen] for of in counts for kind in kinds if kind in of]
    return Count(sum(each.found for each in parts), sum(each.of for each in parts))


def whole(counts: Sequence[Counts], kinds: Sequence[str]) -> Count:
    seen, unseen = (summed(counts, kinds, seen=each) for each in (True, False))
    return Count(seen.found + unseen.found, seen.of + unseen.of)


def chosen_on(made: Sequence[Base], detectors: Sequence[tuple[str, PassageDetector]], *, of: str) -> str:
    """What each threshold shows on the half that was looked at, all bases together."""
    kinds = list(getattr(made[0], of))
    back = [kind for kind in kinds if kind in HELD_BACK]
    tuned = [kind for kind in kinds if kind not in HELD_BACK]
    rows = []
    for label, detector in detectors:
        counts = [counted(base, detector, getattr(base, of)) for base in made]
        cells = [summed(counts, each, seen=True) for each in (tuned, [USUAL])]
        rows.append([label, *map(str, [*cells, whole(counts, back)] if back else cells)])
    return table(["threshold", "found", USUAL, *(["held back"] if back else [])], rows)


def shown(made: Sequence[Base], detector: PassageDetector, *, of: str) -> str:
    """What the detector as it ships finds in the other half; of what was held back, in both."""
    counts = [counted(base, detector, getattr(base, of)) for base in made]
    rows = []
    for kind in (*getattr(made[0], of), USUAL):
        cells = [
            str(whole([each], [kind]) if kind in HELD_BACK else summed([each], [kind], seen=False))
            for each in counts
        ]
        rows.append([f"{kind}, held back" if kind in HELD_BACK else kind, *cells])
    return table(["kind", *(base.name for base in made)], rows)


def pages(made: Sequence[Base]) -> Count:
    """Documents of some passages each that belong, of which any passage is found by either."""
    count = Count()
    for base in made:
        found = base.usual(HUBS) | base.usual(OUTLIERS)
        for at in range(0, len(found) - PAGES + 1, PAGES):
            count.add(found=bool(found[at : at + PAGES].any()))
    return count


def by_model(models: Mapping[str, Sequence[Base]]) -> str:
    """All kinds of both halves together, by model: nothing was chosen on the others."""
    rows = []
    for model, made in models.items():
        hubs = [counted(base, HUBS, base.hubs) for base in made]
        far = [counted(base, OUTLIERS, base.strangers) for base in made]
        rows.append(
            [
                f"`{model}`",
                *(str(whole(hubs, kinds)) for kinds in (tuple(made[0].hubs), (USUAL,))),
                *(str(whole(far, kinds)) for kinds in (tuple(made[0].strangers), (USUAL,))),
            ]
        )
    return table(["model", "hubs", f"{USUAL}, hubs", "strangers", f"{USUAL}, outliers"], rows)


def took() -> float:
    """Seconds of one comparison of a hundred passages with as many as are ever looked at."""
    dice = np.random.default_rng(0)
    known, new = (dice.standard_normal((count, 384)).astype(np.float32) for count in (MOST_KNOWN, 100))
    specimen, spans = Specimen.plain("x" * 100), [(at, at + 1) for at in range(100)]
    times = []
    for _ in range(5):
        started = time.process_time()
        compare(specimen, spans, new, known)
        times.append(time.process_time() - started)
    return min(times)


def floors(made: Sequence[Base]) -> dict[str, bool]:
    """What was asked for before a detector was to be built, and whether it holds."""
    counts = [counted(base, HUBS, base.hubs) for base in made]
    without_model = summed(counts, [kind for kind in made[0].hubs if kind not in HELD_BACK], seen=False)
    held_back = whole(counts, HELD_BACK)
    return {
        f"at least half of the hubs is found, made without the model: {without_model}": _is_half(
            without_model
        ),
        f"at least half of the hubs is found, held back: {held_back}": _is_half(held_back),
    }


def _is_half(count: Count) -> bool:
    return count.found >= LEAST_FOUND * count.of


def may_hold(made: Sequence[Base]) -> dict[str, bool]:
    """What would have to be so for a finding to hold a text."""
    asked = {}
    for detector, of in ((HUBS, "hubs"), (OUTLIERS, "strangers")):
        usual = summed([counted(base, detector, getattr(base, of)) for base in made], [USUAL], seen=False)
        what = f"`{detector.name}`: surely no more than 1 % of what belongs, in the other half: {usual}"
        asked[what] = usual.interval[1] <= MOST_USUAL
    return asked


def report(models: Mapping[str, Sequence[Base]], seconds: float) -> str:
    """The section of docs/benchmarks.md."""
    made = models[MODEL]
    hubs = [(f"k-occurrences, {step:g}", Hubs(step)) for step in STEPS]
    rivals = [(f"mean cosine, {step:g}", MeanCosine(step)) for step in STEPS]
    far = [(f"{step:g}", Outliers(step)) for step in STEPS]
    sections = [
        "## Passages beside their base",
        "`python -m benchmarks.beside_the_base --write`",
        _EXPLAINED.strip(),
        f"`hubs`, found from {HUBS.far_above:g} deviations on, in the other half:",
        shown(made, HUBS, of="hubs"),
        f"`outliers`, found from {OUTLIERS.far_below:g} deviations on, in the other half:",
        shown(made, OUTLIERS, of="strangers"),
        _HOW_CHOSEN.strip(),
        chosen_on(made, [*hubs, *rivals], of="hubs"),
        "Outliers:",
        chosen_on(made, far, of="strangers"),
        "Other models, for which nothing was chosen; all kinds, both halves, all bases together:",
        by_model(models),
        f"Of documents of {PAGES} passages that belong, so many have one that is found: {pages(made)}.",
        f"Comparing a hundred passages with {MOST_KNOWN:,}: {seconds * 1000:.0f} ms ({machine()}).",
        "What was asked for:",
        "\n".join(f"- {wanted(what, holds=holds)}" for what, holds in floors(made).items()),
        "What would let a finding hold a text by default:",
        "\n".join(f"- {wanted(what, holds=holds)}" for what, holds in may_hold(made).items()),
        _TRUSTED.strip(),
    ]
    return "\n\n".join(sections)


_EXPLAINED = f"""
Bases of the passages of xquad-en (240), of every third of piaf-fr (254), and of both, with `{MODEL}`.
Passages of the base are judged beside the others, an eighth of them left out at a time. Crafted hubs are made
of parts of the base, {CRAFTED} of a kind for each set: by who has no model; and by who has the model and all
vectors ({CLIMBED} of the last kind), which were held back while thresholds were chosen. Strangers are texts
that nobody wrote for such a base. Intervals are Wilson's, at 95 %. Each set is cut in half by a hash of its
texts: thresholds were chosen on one half, so that about one in a hundred of the base's own is found. What is
counted, and among how many neighbours, was chosen with both halves and what was held back in view.
"""
_HOW_CHOSEN = """
By threshold: kinds that were not held back and passages of the base, of the half that it was chosen on; and
what was held back. All bases together. First hubs, and how the mean cosine to all would find them:
"""
_TRUSTED = """
How far to trust it: two sets of encyclopaedia articles are not the bases of a company, and both halves are of
the same two. Sixty frequent words are near little, and so seldom a hub; a text that is near the questions of
one subject alone is none, and is not found. Neither is a stranger in a base that holds something like it.
"""


def main() -> int:
    models = {MODEL: bases(Vectorised(E5Embedder()), climbs=True)}
    models["local-use-512"] = bases(Vectorised(SentenceEmbedder()), climbs=False)
    models["local-hash-256"] = bases(Vectorised(HashEmbedder()), climbs=False)
    section = report(models, took())
    publish("beside-the-base", section, write="--write" in sys.argv[1:])
    return 0 if all(floors(models[MODEL]).values()) else 1


if __name__ == "__main__":
    sys.exit(main())
