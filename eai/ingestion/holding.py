"""The commit of a text that is held instead of served."""

from collections import Counter

from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.ingestion.examination import HeldBack, candidate_of
from eai.ingestion.repository import Work
from eai.knowledge.documents.holding import hold_version
from eai.knowledge.documents.serving import ExtractedText
from eai.platform.jobs import JobRun
from eai.quarantine.service import Quarantine


async def hold(  # noqa: PLR0917 - one call site, in the order of the layers
    session: AsyncSession, quarantine: Quarantine, audit: Audit, run: JobRun, work: Work, held: HeldBack
) -> None:
    """Keep the text, what was found in it, and the event that says so. Raises VersionOutdated."""
    extract, judgement = held.extract, held.judgement
    blackened = {place.value: masks for place, masks in held.blackened.items() if masks}
    spans = {"blackened": blackened} if blackened else {}
    text = ExtractedText(extract.text, judgement.content_hash, extract.language, dlp_spans=spans)
    await hold_version(session, work.base, work.stored, work.source_hash, text)
    candidate = candidate_of(work.manuscript)
    await quarantine.hold(session, candidate, judgement, held.level, run.parameters)
    found = Counter(finding.severity.value for finding in judgement.findings)
    await audit.record(
        session,
        work.manuscript.submitter.actor,
        AuditAction.DOCUMENT_QUARANTINED,
        tenant=run.tenant,
        resource=Resource("document", str(work.stored.document)),
        facts={
            "base": str(work.base.id),
            "version": work.stored.number,
            "threshold": judgement.threshold.value,
            "findings": dict(found),
            "reasons": sorted({finding.reason.value for finding in judgement.findings}),
            "content_hmac": audit.fingerprint(run.tenant, judgement.content_hash),
        },
    )
