"""Looks at what is shown with a document: it goes through what texts go through."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.dlp.errors import DlpBlocked
from eai.dlp.ports import DlpAction, DlpRules, Scanner, Verdict
from eai.dlp.redaction import Removal, redact
from eai.dlp.rules import rules_of
from eai.ingestion.screening import refuse_above, refuse_blocked, told
from eai.knowledge.documents.fields import EXTERNAL_ID, Part, ScreenedFields, ShownFields
from eai.quarantine.ports import Severity
from eai.quarantine.service import Quarantine
from eai.tenants.repository import TenantRows


class FieldExamination:
    """A `FieldScreen`."""

    def __init__(self, scanner: Scanner, quarantine: Quarantine) -> None:
        self._scanner = scanner
        self._quarantine = quarantine

    async def screen(
        self, session: AsyncSession, subject: Subject, fields: ShownFields, before: ShownFields | None = None
    ) -> ScreenedFields:
        """What may be kept of the fields.

        Raises DlpBlocked, ClearanceExceeded, DlpUnavailable; where no text comes with them ReviewRequired and
        ExaminationFailed.
        """
        verdict = await self.verdict(fields, await rules_of(session, subject.tenant))
        # They are seen as soon as they are kept: nothing of them can wait for a steward.
        refuse_blocked(verdict, DlpAction.QUARANTINE)
        refuse_above(subject.clearance, verdict)
        if before is not None:
            await self._refuse_weighty(session, subject, before, fields)
        return ScreenedFields(
            _redacted(fields, verdict), told(verdict.findings, verdict.level), verdict.level
        )

    async def verdict(self, fields: ShownFields, rules: DlpRules) -> Verdict:
        """What DLP has to say of the fields. Raises DlpUnavailable."""
        return await self._scanner.scan([text for _, text in fields.texts], rules)

    async def _refuse_weighty(
        self, session: AsyncSession, subject: Subject, before: ShownFields, after: ShownFields
    ) -> None:
        # What was there already may be what a steward has let pass.
        new = dict(set(after.texts) - set(before.texts))
        if new:
            row = await TenantRows(session, subject.tenant).get()
            await self._quarantine.refuse_weighty(Severity(row.quarantine_threshold), new)


def _redacted(fields: ShownFields, verdict: Verdict) -> ShownFields:
    """The fields without what must go. Raises DlpBlocked where that would name another source."""
    names = [name for name, _ in fields.texts]
    parts: dict[str, list[Part]] = defaultdict(list)
    for found in verdict.findings:
        if found.action is DlpAction.REDACT:
            parts[names[found.text]].append((found.start, found.end, found.entity))
    if EXTERNAL_ID in parts:
        raise DlpBlocked(entities=sorted({entity for _, _, entity in parts[EXTERNAL_ID]}))
    return fields.without(parts, _written) if parts else fields


def _written(text: str, parts: Sequence[Part]) -> str:
    return redact(text, (Removal(*part) for part in parts))
