"""Shows documents, and changes what is not their text."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.connectors.repository import ConnectorRows
from eai.kernel.errors import NotFound
from eai.kernel.ids import DocumentId
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.bases.access import authorise
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.documents.access import find_document, hold_document
from eai.knowledge.documents.answers import document_out, version_out
from eai.knowledge.documents.drafts import DocumentChanges
from eai.knowledge.documents.fields import FieldScreen, ShownFields, screened_changes
from eai.knowledge.documents.kept import refuse_other_words
from eai.knowledge.documents.levels import effective_level
from eai.knowledge.documents.replacing import change_document
from eai.knowledge.documents.schemas import DocumentAcl, DocumentOut, DocumentPatch, VersionOut
from eai.knowledge.documents.source_levels import require_source_levels
from eai.knowledge.documents.span_rights import change_spans
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.documents.view_rows import DocumentFilter, ViewRows
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.visibility import visible_documents
from eai.platform.jobs import Jobs
from eai.platform.listing import next_key


class Documents:
    """The documents of a tenant's bases, as one subject may see and change them."""

    def __init__(self, audit: Audit, jobs: Jobs, screen: FieldScreen) -> None:
        self._audit = audit
        self._screen = screen
        self._jobs = jobs

    async def get(
        self, session: AsyncSession, subject: Subject, base_reference: str, reference: str
    ) -> DocumentOut:
        """The document, if `subject` may see it."""
        base, row = await find_document(session, subject, base_reference, reference)
        return await self.describe(session, subject, base, DocumentId(row.id))

    async def describe(
        self, session: AsyncSession, subject: Subject, base: BaseHandle, document: DocumentId
    ) -> DocumentOut:
        """A live document that `subject` has just written, whether or not it may read it."""
        is_live = KnowledgeDocument.deleting_since.is_(None)
        view = await ViewRows(session, base.tenant, base.id).view(document, is_live)
        if view is None:
            raise NotFound
        chunks = await ChunkRows(session, base.tenant).count_serving(
            [document], base.generation.id, _reader(subject, base)
        )
        return document_out(subject, base, view, chunks)

    async def page(
        self,
        session: AsyncSession,
        subject: Subject,
        base_reference: str,
        wanted: DocumentFilter,
        page: PageRequest,
    ) -> Page[DocumentOut]:
        """The documents that `subject` may see, oldest first."""
        base = await authorise(session, subject, base_reference)
        visible = visible_documents(subject, base.rights, base.classification)
        views = await ViewRows(session, base.tenant, base.id).page(visible, wanted, page)
        shown = views[: page.limit]
        chunks = await ChunkRows(session, base.tenant).count_serving(
            [view.document.id for view in shown], base.generation.id, _reader(subject, base)
        )
        key = next_key([view.document for view in views], page)
        return Page([document_out(subject, base, view, chunks) for view in shown], key)

    async def versions(
        self,
        session: AsyncSession,
        subject: Subject,
        base_reference: str,
        reference: str,
        page: PageRequest,
    ) -> Page[VersionOut]:
        """The versions of a document that `subject` may see, newest first."""
        base, row = await find_document(session, subject, base_reference, reference)
        found = await VersionRows(session, base.tenant, DocumentId(row.id)).page(page)
        shown = found[: page.limit]
        key = (str(shown[-1].number),) if len(found) > page.limit else None
        is_shown = await ConnectorRows(session, base.tenant).is_shown(row.source_connector)
        return Page([version_out(subject, base, row, each, is_shown=is_shown) for each in shown], key)

    async def patch(
        self,
        session: AsyncSession,
        subject: Subject,
        base_reference: str,
        reference: str,
        patch: DocumentPatch,
        *,
        revision: int | None,
    ) -> DocumentOut:
        """Change title and metadata. Raises what the screen has against them, and UnderLegalHold."""
        base, row = await hold_document(session, subject, base_reference, reference, revision)
        given = {f for f in ("title", "metadata") if getattr(patch, f) is not None}
        changes = DocumentChanges(frozenset(given), title=patch.title, metadata=patch.metadata or {})
        changes = await screened_changes(
            self._screen, session, subject, ShownFields.of(row, {}), changes, is_alone=True
        )
        await refuse_other_words(session, base, row, changes)
        changed = await change_document(session, self._jobs, subject, base, row, changes=changes)
        out = await self.describe(session, subject, base, DocumentId(row.id))
        if changed:
            await self._audit.record(
                session,
                subject,
                AuditAction.DOCUMENT_UPDATE,
                resource=_resource(row),
                facts={"base": str(base.id), "changed": sorted(field.rstrip("_") for field in changed)},
                private={"title": out.title},
            )
        return out

    async def set_acl(
        self,
        session: AsyncSession,
        subject: Subject,
        base_reference: str,
        reference: str,
        acl: DocumentAcl,
        *,
        revision: int | None,
    ) -> DocumentOut:
        """Change who may read the document; binding for the next query, before any point has moved.

        Raises SourceConnectorRefused, PrincipalUnknown, ClearanceExceeded, PermissionMissing, and
        InvalidInput where a reason is missing.
        """
        base, row = await hold_document(session, subject, base_reference, reference, revision)
        before, changes = effective_level(base, row), _acl_changes(acl)
        spans = None if acl.chunk_readers is None else tuple(given.span() for given in acl.chunk_readers)
        await require_source_levels(session, base, row, changes, spans)
        changed = await change_document(session, self._jobs, subject, base, row, changes=changes)
        if spans is not None and await change_spans(
            session, self._jobs, subject, base, row, spans, acl.reason
        ):
            changed |= {"chunk_readers"}
        out = await self.describe(session, subject, base, DocumentId(row.id))
        if changed:
            await self._audit.record(
                session,
                subject,
                AuditAction.DOCUMENT_ACL_SET,
                resource=_resource(row),
                facts={
                    "base": str(base.id),
                    "changed": sorted(changed),
                    "from_classification": before.value,
                    "classification": out.classification.value,
                    "readers": row.readers,
                },
                private={"reason": acl.reason} if acl.reason else {},
            )
        return out


def _acl_changes(acl: DocumentAcl) -> DocumentChanges:
    return DocumentChanges(
        given=frozenset(acl.model_fields_set & {"readers", "classification"}),
        readers=None if acl.readers is None else frozenset(acl.readers),
        classification=acl.classification,
        reason=acl.reason,
    )


def _reader(subject: Subject, base: BaseHandle) -> Subject | None:
    return None if base.rights.can_manage else subject


def _resource(row: KnowledgeDocument) -> Resource:
    return Resource("document", str(row.id))
