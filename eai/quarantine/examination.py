"""All detectors over one document, or its passages, and their marks made into findings."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from eai.quarantine.catalogue import DETECTORS, PASSAGE_DETECTORS
from eai.quarantine.neighbourhood import Span, Vectors, neighbourhoods
from eai.quarantine.ports import (
    MOST_FINDINGS,
    Detector,
    Finding,
    Mark,
    Named,
    PassageDetector,
    Place,
)
from eai.quarantine.revealing import reveal
from eai.quarantine.specimen import Specimen

LONGEST_EXCERPT = 200
"""Characters of a span that are shown; what lies behind is found by its place."""


def examine(specimen: Specimen, detectors: Sequence[Detector] = DETECTORS) -> tuple[Finding, ...]:
    """The findings, or the gravest of too many, in the order of the text; none overlaps one of its reason."""
    return _findings(specimen, _united(specimen, detectors))


def compare(
    specimen: Specimen,
    spans: Sequence[Span],
    vectors: Vectors,
    known: Vectors,
    detectors: Sequence[PassageDetector] = PASSAGE_DETECTORS,
) -> tuple[Finding, ...]:
    """The same of whole passages, at `spans` of the text, by their vectors and those `known` in their base.

    All vectors are one model's. Nothing is found where too few are known. Passages may overlap.
    """
    marked = [
        (detector, mark)
        for neighbourhood in neighbourhoods(spans, vectors, known)
        for detector in detectors
        for mark in detector.marks(neighbourhood)
    ]
    return _findings(specimen, marked)


def _findings(specimen: Specimen, marked: Iterable[tuple[Named, Mark]]) -> tuple[Finding, ...]:
    seen: Counter[str] = Counter()
    found = []
    gravest = sorted(marked, key=lambda pair: (-pair[1].severity.rank, *_order(pair[1])))
    for detector, mark in sorted(gravest[:MOST_FINDINGS], key=lambda pair: _order(pair[1])):
        words = _part(specimen, mark)
        key = "\0".join([detector.name, mark.reason, mark.place, words, *filter(None, [mark.against])])
        found.append(_finding(detector, mark, words, _fingerprint(key, seen[key])))
        seen[key] += 1
    return tuple(found)


def _united(specimen: Specimen, detectors: Sequence[Detector]) -> Iterator[tuple[Detector, Mark]]:
    for detector in detectors:
        for mark in unite(detector.marks(specimen)):
            yield detector, mark
    for name, words in specimen.beside.items():
        alone, place = Specimen.plain(words), Place(name)
        for detector in detectors:
            for mark in unite(detector.marks(alone)):
                yield detector, replace(mark, place=place)


def unite(marks: Iterable[Mark]) -> list[Mark]:
    """Overlapping marks of one reason as one that covers them, as severe as the most severe of them."""
    united: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.place, mark.reason, mark.start, mark.end)):
        last = united[-1] if united else None
        if last and (last.place, last.reason) == (mark.place, mark.reason) and mark.start < last.end:
            united[-1] = _both(last, mark)
        else:
            united.append(mark)
    return united


def _both(first: Mark, second: Mark) -> Mark:
    gravest = max(first, second, key=lambda mark: mark.severity.rank)
    end = max(first.end, second.end)
    meaning = first.meaning or second.meaning
    return replace(gravest, start=first.start, end=end, meaning=meaning)


def _order(mark: Mark) -> tuple[str, int, int, str]:
    return mark.place, mark.start, mark.end, mark.reason


def _part(specimen: Specimen, mark: Mark) -> str:
    return specimen.whole(mark.place)[mark.start : mark.end]


def _finding(detector: Named, mark: Mark, words: str, fingerprint: str) -> Finding:
    return Finding(
        detector=detector.name,
        version=detector.version,
        reason=mark.reason,
        severity=mark.severity,
        start=mark.start,
        end=mark.end,
        place=mark.place,
        excerpt=excerpt_of(words),
        meaning=mark.meaning and excerpt_of(mark.meaning),
        fingerprint=fingerprint,
    )


def excerpt_of(words: str) -> str:
    """The beginning of the words, as it is shown."""
    return reveal(words[:LONGEST_EXCERPT]).text


def _fingerprint(key: str, earlier: int) -> str:
    return hashlib.sha256(f"{key}\0{earlier}".encode("utf-8", "surrogatepass")).hexdigest()
