"""What follows once points may have been written over by somebody who had lost the job of writing them."""

from collections.abc import Iterable
from uuid import uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, GenerationId, JobId, TenantId
from eai.knowledge.documents.serving import MOVE_RIGHTS
from eai.knowledge.statistics.drift import REWEIGH
from eai.platform.jobs import Jobs


async def follow_anew(  # noqa: PLR0917 - from the whole to its parts
    session: AsyncSession,
    jobs: Jobs,
    tenant: TenantId,
    base: BaseId,
    document: DocumentId,
    generations: Iterable[GenerationId],
) -> None:
    """Queue what gives a document's points the class and the weights of their rows again.

    An attempt that was frozen past its lease may write points as they were when it began, after others
    have moved them on. It finds itself fenced only then, and the jobs that moved them are long done.
    """
    ids = {"base": str(base), "document": str(document)}
    await jobs.create(session, tenant, JobId(uuid4()), MOVE_RIGHTS, ids)
    for generation in generations:
        await jobs.create(session, tenant, JobId(uuid4()), REWEIGH, {**ids, "generation": str(generation)})
