"""Sequences of roles, and every place where a text has one.

A pattern is written in names of roles: `<ignore> ~3 <past> ~2 <instr>` is a word that tells to ignore, at
most three others, one that points back, at most two others, and one for instructions, in one sentence. All
repetitions are bounded, so that the time for a text grows with its length and no faster.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, chain

from eai.quarantine.grammar.lexicon import BOUNDARY, lexicon
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

_TOKEN = re.compile(r"[^\W_]+|@|[.!?;:](?=[\s\"'»)\]*_]|\Z)|…|\n[^\S\n]*+\n")
_CUT = re.compile(r"\S(?=\s)")
_BLOCK = 4_096
_ROLE = re.compile(r"<(\w+)>")
_OPTIONAL = re.compile(r"<\w+>\?")
_GAP = re.compile(r"~(\d{1,2})")


class Sentences:
    """A text as the sequence of what its words do."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks = list(_blocks(text))
        of_blocks = [_TOKEN.findall(text, start, end) for start, end in self._blocks]
        code = lexicon().code
        known = {token: code(token) for token in set(chain.from_iterable(of_blocks))}
        # A text ends as a sentence does.
        self.codes = "".join([known[token] for tokens in of_blocks for token in tokens]) + BOUNDARY
        self._firsts = list(accumulate(map(len, of_blocks), initial=0))

    def place(self, first: int, last: int) -> tuple[int, int]:
        """Where the words from number `first` to before number `last` stand in the text."""
        return self._span(first)[0], self._span(min(last, self._firsts[-1]) - 1)[1]

    def _span(self, number: int) -> tuple[int, int]:
        block = bisect_right(self._firsts, number) - 1
        return self._spans(block)[number - self._firsts[block]]

    def _spans(self, block: int) -> Sequence[tuple[int, int]]:
        """Of the words of one block: few texts hold anything, and then in few places."""
        if block not in self._known_spans:
            start, end = self._blocks[block]
            self._known_spans[block] = [match.span() for match in _TOKEN.finditer(self._text, start, end)]
        return self._known_spans[block]

    @cached_property
    def _known_spans(self) -> dict[int, Sequence[tuple[int, int]]]:
        return {}


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Parts of a few thousand characters, cut in front of white space, where no word or sign is cut."""
    start = 0
    while start < len(text):
        cut = _CUT.search(text, start + _BLOCK)
        end = cut.end() if cut else len(text)
        yield start, end
        start = end


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sequence of roles, and what it means when a document holds it."""

    reason: Reason
    severity: Severity
    written: str


class PatternSet:
    """Patterns looked for together: first whether any of them starts at a word, then which.

    Whether a place is found depends on its own words only: nothing before or after it takes it away.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns

    @cached_property
    def _groups(self) -> Sequence[tuple[re.Pattern[str], Sequence[tuple[Pattern, str]]]]:
        """Patterns by the role they start with. One regular expression for all of a group is what is fast."""
        by_role: dict[str, list[tuple[Pattern, str]]] = {}
        for pattern in self.patterns:
            for written in starts_apart(pattern.written):
                role, _, rest = written.partition(">")
                by_role.setdefault(f"{role}>", []).append((pattern, rest))
        return [
            (
                compile_pattern(f"{role}(?:{'|'.join(rest for _, rest in group)})"),
                [(pattern, role + rest) for pattern, rest in group],
            )
            for role, group in by_role.items()
        ]

    def places(self, codes: str) -> Iterator[tuple[Pattern, int, int]]:
        """Each pattern with first and one past the last word of its occurrences, overlapping ones too."""
        for any_of_them, group in self._groups:
            position = 0
            while found := any_of_them.search(codes, position):
                for pattern, written in group:
                    if match := compile_pattern(written).match(codes, found.start()):
                        yield pattern, *match.span()
                position = found.start() + 1


@cache
def compile_pattern(written: str) -> re.Pattern[str]:
    """The regular expression over codes. Raises KeyError for a role that no word has."""
    roles = lexicon().roles
    gaps = _GAP.sub(lambda match: f"[^{BOUNDARY}]{{0,{match[1]}}}", "".join(written.split()))
    return re.compile(_ROLE.sub(lambda match: f"[{roles[match[1]]}]", gaps))


def starts_apart(written: str) -> Iterator[str]:
    """The same pattern as several ones that each start with one role."""
    if not written.startswith("(?:"):
        yield written
        optional = _OPTIONAL.match(written)
        if optional:
            yield from starts_apart(written[optional.end() :])
        return
    alternatives, rest = _alternatives(written)
    for alternative in alternatives:
        yield from starts_apart(alternative + rest)


def _alternatives(written: str) -> tuple[Sequence[str], str]:
    """Those of the group that `written` starts with, and what stands behind it."""
    depth, start, found = 0, len("(?:"), []
    for place, sign in enumerate(written):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0 or (depth == 1 and sign == "|"):
            found.append(written[start:place])
            start = place + 1
        if depth == 0:
            return found, written[start:]
    return found, ""
