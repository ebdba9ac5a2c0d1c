"""Who may follow a document, and how far.

Auditors follow every document of the tenant, also one that is gone: what they are told, ids and hashes, the
audit tells them too. Everybody else follows the documents that they see, to the passages that they may read
and to the answers that they were given themselves.
"""

from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource
from eai.connectors.repository import ConnectorRows
from eai.kernel.errors import BadRequest, NotFound
from eai.kernel.ids import DocumentId
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.bases.access import base_of_tenant
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.bases.naming import read_reference
from eai.knowledge.documents.access import document_id, find_document
from eai.knowledge.documents.answers import content_hash_told
from eai.knowledge.models import DeletionReceipt, DocumentVersion, KnowledgeDocument
from eai.knowledge.receipts.repository import ReceiptRows
from eai.knowledge.receipts.service import receipt_out
from eai.lineage.repository import Answer, LineageRows, Passage, Placed, readable_by
from eai.lineage.schemas import (
    ChunkLineage,
    CitedPassage,
    CitingAnswer,
    DocumentLineage,
    GenerationLineage,
    VersionLineage,
)


@dataclass(frozen=True, slots=True)
class _Followed:
    """A document, or its receipt; `base` is there for who is no auditor."""

    id: DocumentId
    base_id: UUID
    row: KnowledgeDocument | None
    receipt: DeletionReceipt | None
    base: BaseHandle | None = None


class Lineage:
    """Follows documents. Each look has its event: end the transaction, flush the evidence, then show."""

    async def document(
        self, session: AsyncSession, subject: Subject, base_reference: str, reference: str
    ) -> tuple[DocumentLineage, Evidence]:
        """Where the lineage of a document begins. Raises NotFound."""
        followed = await _follow(session, subject, base_reference, reference)
        rows, row = LineageRows(session, subject.tenant, followed.id), followed.row
        count, last = (None, None) if row is None else await rows.retrievals()
        serving = None if row is None else await rows.number_of(row.serving_version_id)
        shown = DocumentLineage(
            document_id=followed.id,
            knowledge_base_id=followed.base_id,
            state="deleted" if row is None else "deleting" if row.deleting_since else "live",
            source_connector=None if row is None else row.source_connector,
            versions_count=await rows.count_versions(),
            serving_version=None if serving is None else str(serving),
            answers_count=count,
            last_answer_at=last,
            receipt=None if followed.receipt is None else receipt_out(followed.receipt),
        )
        return shown, _look(subject, followed, "document")

    async def versions(
        self, session: AsyncSession, subject: Subject, base_reference: str, reference: str, page: PageRequest
    ) -> tuple[Page[VersionLineage], Evidence]:
        """The versions that are stored, newest first.

        Hashes are of the one that answers, for who may read all of it. Raises NotFound.
        """
        followed = await _follow(session, subject, base_reference, reference)
        rows = LineageRows(session, subject.tenant, followed.id)
        found = await rows.versions(page)
        shown = found[: page.limit]
        readable = () if followed.base is None else readable_by(subject, followed.base)
        placed = await rows.placed([version.id for version in shown], *readable)
        serving = None if followed.row is None else followed.row.serving_version_id
        items = [
            _version(
                each,
                placed.get(each.id, []),
                is_serving=each.id == serving,
                content_hash=await _content_hash(session, subject, followed, each),
            )
            for each in shown
        ]
        next_key = (str(shown[-1].number),) if len(found) > page.limit else None
        return Page(items, next_key), _look(subject, followed, "versions")

    async def chunks(  # noqa: PLR0917 - the parts of the question
        self,
        session: AsyncSession,
        subject: Subject,
        base_reference: str,
        reference: str,
        page: PageRequest,
        version: int | None,
    ) -> tuple[Page[ChunkLineage], Evidence]:
        """The passages, of one version or of all. Raises NotFound and PermissionMissing."""
        followed = await _follow(session, subject, base_reference, reference, Permission.READ)
        readable = () if followed.base is None else readable_by(subject, followed.base)
        rows = LineageRows(session, subject.tenant, followed.id)
        found = await rows.passages(page, version, *readable)
        shown = found[: page.limit]
        next_key = None
        if len(found) > page.limit:
            last = shown[-1]
            next_key = (str(last.version), str(last.start), str(last.end))
        return Page([_chunk(each) for each in shown], next_key), _look(subject, followed, "chunks")

    async def answers(
        self, session: AsyncSession, subject: Subject, base_reference: str, reference: str, page: PageRequest
    ) -> tuple[Page[CitingAnswer], Evidence]:
        """Answers that cited the document, the oldest first; for who is no auditor, their own.

        A page may hold fewer than asked for, or none, and be followed by another. Raises NotFound.
        """
        followed = await _follow(session, subject, base_reference, reference)
        rows = LineageRows(session, subject.tenant, followed.id)
        asked_by = None if _is_auditor(subject) else subject.principal
        scanned = await rows.answers(_after(page), page.limit, asked_by)
        items = [_answer(each, followed.id) for each in scanned.answers]
        next_key = None if scanned.upto is None else (str(scanned.upto),)
        return Page(items, next_key), _look(subject, followed, "answers")


async def _follow(
    session: AsyncSession,
    subject: Subject,
    base_reference: str,
    reference: str,
    permission: Permission | None = None,
) -> _Followed:
    if not _is_auditor(subject):
        base, row = await find_document(session, subject, base_reference, reference, permission)
        return _Followed(DocumentId(row.id), base.id, row, None, base)
    base_id, document = await _base_id(session, subject, base_reference), document_id(reference)
    row_or_none = await LineageRows(session, subject.tenant, document).find(base_id)
    receipt = await ReceiptRows(session, subject.tenant).find(document)
    if receipt is not None and (receipt.kind != "document" or receipt.base_id != base_id):
        receipt = None
    if row_or_none is None and receipt is None:
        raise NotFound
    return _Followed(document, base_id, row_or_none, receipt)


async def _base_id(session: AsyncSession, subject: Subject, reference: str) -> UUID:
    """The base, also one that is gone if it is named by its id. Raises NotFound."""
    wanted = read_reference(reference)
    if isinstance(wanted, UUID):
        return wanted
    base = await base_of_tenant(session, subject.tenant, reference)
    if base is None:
        raise NotFound
    return base.id


async def _content_hash(
    session: AsyncSession, subject: Subject, followed: _Followed, version: DocumentVersion
) -> str | None:
    """The digest of the version's text, as the document itself tells it.

    An auditor is asked it as well: a digest confirms guesses at a text that the auditor is not cleared for.
    """
    base, row = followed.base, followed.row
    if row is None or row.serving_version_id != version.id:
        return None
    if base is None:
        try:
            base, row = await find_document(session, subject, str(followed.base_id), str(followed.id))
        except NotFound:
            return None
    if not await ConnectorRows(session, subject.tenant).is_shown(row.source_connector):
        return None
    return content_hash_told(subject, base, row, version)


def _is_auditor(subject: Subject) -> bool:
    return Scope.AUDIT_READ in subject.scopes


def _look(subject: Subject, followed: _Followed, what: str) -> Evidence:
    entry = AuditEntry(
        subject.tenant,
        AuditAction.LINEAGE_READ,
        Actor.of(subject),
        Resource("document", str(followed.id)),
        facts={"base": str(followed.base_id), "what": what},
    )
    return Evidence(entries=(entry,))


def _version(
    row: DocumentVersion, placed: list[Placed], *, is_serving: bool, content_hash: str | None
) -> VersionLineage:
    return VersionLineage(
        id=row.id,
        version=str(row.number),
        status=cast(Any, row.status),
        is_serving=is_serving,
        # What was taken out of a text, the digest of what was given would tell.
        source_sha256=content_hash if content_hash == row.source_hash.hex() else None,
        content_sha256=content_hash,
        created_at=row.created_at,
        generations=[
            GenerationLineage(
                id=generation.id,
                state=cast(Any, generation.state),
                embedding_model=generation.embedding_model,
                dimensions=generation.dimensions,
                chunks=chunks,
            )
            for generation, chunks in placed
        ],
    )


def _chunk(passage: Passage) -> ChunkLineage:
    return ChunkLineage(
        chunk_id=passage.chunk,
        version=str(passage.version),
        ordinal=passage.ordinal,
        start=passage.start,
        end=passage.end,
        generations=sorted(passage.generations),
    )


def _answer(answer: Answer, document: DocumentId) -> CitingAnswer:
    facts, actor = answer.said["facts"], answer.said["actor"]
    return CitingAnswer(
        seq=answer.seq,
        occurred_at=answer.occurred_at,
        request_id=answer.said["request_id"],
        asked_by=None if actor is None else actor["principal"],
        generation=facts["generation"],
        passages=[
            CitedPassage(chunk_id=passage["chunk"], version=str(passage["version"]))
            for passage in facts["passages"]
            if passage["document"] == str(document)
        ],
        results_sha256=facts["results_sha256"],
    )


def _after(page: PageRequest) -> int:
    try:
        return 0 if page.after is None else int(page.after[0])
    except (ValueError, IndexError) as error:
        raise BadRequest from error
