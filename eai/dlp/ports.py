"""Values of a scan, and the port of whatever does it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from eai.access.classification import Classification
from eai.tenants.dlp_rules import DlpAction

__all__ = ["DlpAction", "DlpRules", "Finding", "Scanner", "Verdict"]


@dataclass(frozen=True, slots=True)
class Finding:
    """An entity in text number `text`, from `start` to `end` in the text as it was given."""

    entity: str
    text: int
    start: int
    end: int
    action: DlpAction


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a scan found. `texts` are as given, or with every entity that must go replaced.

    `level` is the lowest classification that covers what was found; None: nothing raises it.
    """

    findings: tuple[Finding, ...]
    texts: tuple[str, ...]
    level: Classification | None = None

    @property
    def action(self) -> DlpAction | None:
        """The strictest consequence of all."""
        found = {finding.action for finding in self.findings}
        return max(found, key=list(DlpAction).index, default=None)


DlpRules = Mapping[str, DlpAction]
"""A tenant's own consequence per entity; entities that are not named follow the defaults."""


class Scanner(Protocol):
    """Finds entities in texts."""

    async def scan(self, texts: Sequence[str], rules: DlpRules) -> Verdict:
        """Judge all texts together. Raises DlpUnavailable; then nothing may be sent."""
        ...
