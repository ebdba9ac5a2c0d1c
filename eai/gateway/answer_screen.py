"""Model answers go through DLP as texts do: before any of it is told, also where it comes in pieces."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from eai.access.classification import Classification
from eai.dlp.errors import DlpBlocked
from eai.dlp.ports import DlpAction, DlpRules, Finding, Scanner, Verdict
from eai.dlp.redaction import Removal, redact
from eai.identity.errors import ClearanceExceeded

ANSWER_REDACTED = "dlp_answer_redacted"
"""The warning of an answer that is told without what may not be."""

_CONTEXT = 4_096
"""Characters that were told already and are read again: what stands before a number says what it is."""
_MOST_HELD = 4_096
"""No entity with a form of its own is longer but a private key, which is known by its beginning."""
_TOKEN = re.compile(r"\S+")
_FEWEST = 5
_WORD = re.compile(r"[\"'(«]*+[^\W\d_]++(?:['\u2019-][^\W\d_]++)*+[0-9]?[\"'»).,;:!?…]*+")
_BLOCKING = frozenset({DlpAction.BLOCK, DlpAction.QUARANTINE})


@dataclass(slots=True)
class AnswerScreen:
    """What may be told of one answer. `entities` are those that were found in it so far."""

    scanner: Scanner
    rules: DlpRules
    clearance: Classification
    entities: set[str] = field(default_factory=set)
    is_redacted: bool = False

    async def whole(self, content: str) -> str:
        """The answer as it may be told. Raises DlpBlocked, ClearanceExceeded, DlpUnavailable."""
        return await self.part(content, 0, len(content)) if content else content

    async def part(self, text: str, start: int, end: int) -> str:
        """What may be told of `[start, end)` of `text`; the rest is read with it. Raises as `whole`."""
        verdict = await self.scanner.scan([text], self.rules)
        found = [each for each in verdict.findings if each.start < end and each.end > start]
        self.entities |= {str(each.entity) for each in found}
        self._refuse(verdict, found)
        removals = [
            Removal(max(each.start, start) - start, min(each.end, end) - start, each.entity)
            for each in found
            if each.action is DlpAction.REDACT
        ]
        self.is_redacted |= bool(removals)
        return redact(text[start:end], removals)

    def _refuse(self, verdict: Verdict, found: Sequence[Finding]) -> None:
        if blocking := _entities(found, _BLOCKING):
            raise DlpBlocked(entities=blocking)
        raising = _entities(found, {DlpAction.RAISE})
        if raising and verdict.level is not None and verdict.level.exceeds(self.clearance):
            raise ClearanceExceeded(clearance=self.clearance.value, entities=raising)


@dataclass(slots=True)
class AnswerPieces:
    """An answer as it comes, told only as far as nothing that goes on can be part of what was found."""

    screen: AnswerScreen
    _told: str = ""
    _held: str = ""

    async def take(self, piece: str) -> str:
        """What may be told now that `piece` has come; often a little less. Raises as `AnswerScreen.whole`."""
        self._held += piece
        return await self._tell(_settled(self._held))

    async def rest(self) -> str:
        """What is still to be told now that nothing more comes."""
        return await self._tell(len(self._held))

    async def _tell(self, count: int) -> str:
        if count == 0:
            return ""
        start = len(self._told)
        told = await self.screen.part(self._told + self._held, start, start + count)
        self._told = (self._told + self._held[:count])[-_CONTEXT:]
        self._held = self._held[count:]
        return told


def _settled(text: str) -> int:
    """Up to where nothing in `text` may go on as part of a number, an address or a key: after a word."""
    complete = [token for token in _TOKEN.finditer(text) if token.end() < len(text)]
    for token in reversed(complete):
        if len(token[0]) >= _FEWEST and _WORD.fullmatch(token[0]):
            # A number may begin with the digit that a word ends in.
            has_digit = any(map(str.isdigit, token[0]))
            return token.start() if has_digit else token.end()
    return max(len(text) - _MOST_HELD, 0)


def _entities(found: Sequence[Finding], actions: Collection[DlpAction]) -> list[str]:
    return sorted({str(each.entity) for each in found if each.action in actions})
