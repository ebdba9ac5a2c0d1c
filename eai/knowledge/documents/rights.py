"""Changes who may read a document, and waits a moment for the index to follow."""

import asyncio
from contextlib import suppress

from eai.access.subject import Subject
from eai.kernel.errors import NotFound
from eai.kernel.ids import BaseId, DocumentId
from eai.knowledge.bases.access import authorise
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.schemas import DocumentAcl, DocumentOut
from eai.knowledge.documents.service import Documents
from eai.knowledge.documents.serving import MOVE_RIGHTS
from eai.knowledge.documents.span_rights import RECUT
from eai.platform.database import Database

PATIENCE_S = 2.0
_FIRST_LOOK_S = 0.01
_LONGEST_PAUSE_S = 0.3


class DocumentRights:
    """Rights as clients change them.

    What is taken away is gone for the next question, whatever the index says: the re-check decides. What is
    given must be found first, so whoever gives it is answered once workers have moved the points, or after a
    moment that is long enough unless they have much to do.
    """

    def __init__(self, database: Database, documents: Documents) -> None:
        self._database = database
        self._documents = documents

    async def set_acl(
        self, subject: Subject, base_reference: str, reference: str, acl: DocumentAcl, *, revision: int | None
    ) -> DocumentOut:
        """The document under its new rights. Raises what `Documents.set_acl` raises."""
        async with self._database.transaction(subject.tenant) as session:
            changed = await self._documents.set_acl(
                session, subject, base_reference, reference, acl, revision=revision
            )
        # It may be gone by then, or not for this caller to see: it was changed all the same.
        with suppress(TimeoutError, NotFound):
            async with asyncio.timeout(PATIENCE_S):
                return await self._followed(subject, base_reference, changed)
        return changed

    async def _followed(self, subject: Subject, base_reference: str, changed: DocumentOut) -> DocumentOut:
        """The document once its points carry the rights of their rows. It may be cut anew by then."""
        document, has_waited, pause = DocumentId(changed.id), False, _FIRST_LOOK_S
        while True:
            async with self._database.transaction(subject.tenant) as session:
                rows = DocumentRows(session, subject.tenant, BaseId(changed.knowledge_base_id))
                if not await rows.is_worked_on(document, (MOVE_RIGHTS, RECUT)):
                    if not has_waited:
                        return changed
                    base = await authorise(session, subject, base_reference)
                    return await self._documents.describe(session, subject, base, document)
            has_waited = True
            await asyncio.sleep(pause)
            # Each look is a transaction, and workers who are behind need the database themselves.
            pause = min(2 * pause, _LONGEST_PAUSE_S)
