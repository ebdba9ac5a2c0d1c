"""Sequences of roles, and every place where a text has one.

A pattern is written in names of roles: `<ignore> ~3 <past> ~2 <instr>` is a word that tells to ignore, at
most three others, one that points back, at most two others, and one for instructions, in one sentence. All
repetitions are bounded, so that the time for a text grows with its length and no faster.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from eai.quarantine.grammar.lexicon import BOUNDARY, lexicon
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

_TOKEN = re.compile(r"[^\W_]+|@|[.!?;:](?=[\s\"'»)\]*_]|\Z)|…|\n[^\S\n]*+\n")
_ROLE = re.compile(r"<(\w+)>")
_OPTIONAL = re.compile(r"<\w+>\?")
_GAP = re.compile(r"~(\d{1,2})")


class Sentences:
    """A text as the sequence of what its words do."""

    def __init__(self, text: str) -> None:
        self._text = text
        tokens = _TOKEN.findall(text)
        code = lexicon().code
        known = {token: code(token) for token in set(tokens)}
        # A text ends as a sentence does.
        self.codes = "".join([known[token] for token in tokens]) + BOUNDARY

    @cached_property
    def _spans(self) -> Sequence[tuple[int, int]]:
        return [match.span() for match in _TOKEN.finditer(self._text)]

    def place(self, first: int, last: int) -> tuple[int, int]:
        """Where the words from number `first` to before number `last` stand in the text."""
        return self._spans[first][0], self._spans[min(last, len(self._spans)) - 1][1]


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
