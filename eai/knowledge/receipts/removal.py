"""The first half of every deletion: points are counted for the receipt, and then they go."""

from collections.abc import Sequence

from eai.kernel.ids import BaseId, DocumentId
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.points import Points
from eai.knowledge.receipts.repository import ReceiptRows
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs


class PointRemoval:
    """Removes the points of a base, or of one document of it, under the receipt of what is deleted."""

    def __init__(self, database: Database, points: Points, jobs: Jobs) -> None:
        self._database = database
        self._points = points
        self._jobs = jobs

    async def generations(self, run: JobRun, base: BaseId) -> Sequence[StoredGeneration]:
        """Where points of the base may be."""
        async with self._database.transaction(run.tenant) as session:
            return await BaseRows(session, run.tenant).generations(base)

    async def run(
        self,
        run: JobRun,
        generations: Sequence[StoredGeneration],
        base: BaseId,
        document: DocumentId | None = None,
    ) -> None:
        """Remove them from these generations; harmless to repeat. Raises VectorStoreUnavailable, Fenced."""
        found = await self._points.count(generations, document)
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            await ReceiptRows(session, run.tenant).expect(document or base, found)
        await self._points.remove(generations, document)
