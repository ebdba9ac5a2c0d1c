"""The tier of scanning that needs no model: patterns with check digits, in this process."""

import asyncio
from collections.abc import Mapping, Sequence

import structlog

from eai.access.classification import Classification
from eai.dlp.errors import DlpUnavailable
from eai.dlp.normalisation import normalise
from eai.dlp.ports import DlpAction, DlpRules, Finding, Verdict
from eai.dlp.recognition import RECOGNISERS, Recogniser, recognise
from eai.dlp.redaction import Removal, redact
from eai.kernel.respelled import Respelled
from eai.tenants.dlp_rules import DlpEntity

DEFAULT_ACTIONS: Mapping[str, DlpAction] = {
    DlpEntity.PAYMENT_CARD: DlpAction.RAISE,
    DlpEntity.IBAN: DlpAction.RAISE,
    DlpEntity.NIR: DlpAction.RAISE,
    DlpEntity.PRIVATE_KEY: DlpAction.QUARANTINE,
    DlpEntity.API_KEY: DlpAction.QUARANTINE,
    DlpEntity.PASSPORT: DlpAction.RAISE,
    DlpEntity.IDENTITY_CARD: DlpAction.RAISE,
    DlpEntity.EMAIL: DlpAction.RECORD,
    DlpEntity.PHONE: DlpAction.RECORD,
    DlpEntity.SIREN: DlpAction.RECORD,
    DlpEntity.SIRET: DlpAction.RECORD,
    DlpEntity.VAT: DlpAction.RECORD,
}
RAISED_TO = Classification.CONFIDENTIAL

_MOST_ON_THE_LOOP = 32_768
"""Characters that take about a millisecond; more of them are searched in a thread."""
_DEADLINE_S = 30.0

_log = structlog.get_logger(__name__)


class PatternScanner:
    """A `Scanner` that finds what has a form of its own."""

    def __init__(self, recognisers: Sequence[Recogniser] = RECOGNISERS) -> None:
        self._recognisers = recognisers

    async def scan(self, texts: Sequence[str], rules: DlpRules) -> Verdict:
        """Judge all texts together. Raises DlpUnavailable; then nothing may be sent."""
        try:
            if sum(map(len, texts)) <= _MOST_ON_THE_LOOP:
                return self._judged(texts, rules)
            async with asyncio.timeout(_DEADLINE_S):
                return await asyncio.to_thread(self._judged, texts, rules)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the texts were not judged
            # The cause may quote them: only its kind is told.
            _log.error("dlp_failed", cause=type(error).__name__)
            raise DlpUnavailable from None

    def _judged(self, texts: Sequence[str], rules: DlpRules) -> Verdict:
        read = [normalise(text) for text in texts]
        found = recognise([text.text for text in read], self._recognisers)
        actions = {**DEFAULT_ACTIONS, **rules}
        findings = tuple(
            _finding(read[one.text], one.text, (one.start, one.end), one.entity, actions[one.entity])
            for one in found
        )
        is_raised = any(finding.action is DlpAction.RAISE for finding in findings)
        return Verdict(findings, _redacted(texts, findings), RAISED_TO if is_raised else None)


def _finding(read: Respelled, number: int, span: tuple[int, int], entity: str, action: DlpAction) -> Finding:
    start, end = read.origin(*span)
    return Finding(entity, number, start, end, action)


def _redacted(texts: Sequence[str], findings: Sequence[Finding]) -> tuple[str, ...]:
    removals: dict[int, list[Removal]] = {}
    for finding in findings:
        if finding.action is DlpAction.REDACT:
            removals.setdefault(finding.text, []).append(Removal(finding.start, finding.end, finding.entity))
    return tuple(
        redact(text, removals[number]) if number in removals else text for number, text in enumerate(texts)
    )
