"""Scans for clients: what would follow from a text, before it goes anywhere."""

from collections import Counter

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource
from eai.dlp.ports import Scanner, Verdict
from eai.dlp.rules import rules_of
from eai.dlp.schemas import FoundOut, ScanOut, ScanRequest
from eai.platform.database import Database
from eai.tenants.dlp_rules import DlpEntity


class Scans:
    """Searches texts by the rules of whoever asks; nothing of them is kept."""

    def __init__(self, database: Database, scanner: Scanner) -> None:
        self._database = database
        self._scanner = scanner

    async def scan(self, subject: Subject, asked: ScanRequest) -> tuple[ScanOut, Evidence]:
        """What was found, and the event to be flushed before it is shown. Raises DlpUnavailable."""
        async with self._database.transaction(subject.tenant) as session:
            rules = await rules_of(session, subject.tenant)
        verdict = await self._scanner.scan(asked.texts, rules)
        return _out(verdict), _evidence(subject, asked, verdict)


def _out(verdict: Verdict) -> ScanOut:
    return ScanOut(
        findings=[
            FoundOut(
                entity=DlpEntity(each.entity),
                text=each.text,
                start=each.start,
                end=each.end,
                action=each.action,
            )
            for each in verdict.findings
        ],
        action=verdict.action,
        classification=verdict.level,
        texts=list(verdict.texts),
    )


def _evidence(subject: Subject, asked: ScanRequest, verdict: Verdict) -> Evidence:
    entities = Counter(str(each.entity) for each in verdict.findings)
    entry = AuditEntry(
        subject.tenant,
        AuditAction.DLP_SCAN,
        Actor.of(subject),
        Resource("tenant", str(subject.tenant)),
        facts={"texts": len(asked.texts), "entities": dict(entities)},
    )
    return Evidence(entries=(entry,))
