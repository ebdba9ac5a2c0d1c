"""Documents of a knowledge base: shown, opened, changed and deleted. They come in through ingestion."""

from typing import Annotated

from fastapi import Depends, Query
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.knowledge.documents.reading import read_chunk, read_content
from eai.knowledge.documents.schemas import (
    ChunkOut,
    ContentOut,
    DocumentAcl,
    DocumentOut,
    DocumentPatch,
    DocumentStatus,
    ReceiptOut,
    VersionOut,
)
from eai.knowledge.documents.view_rows import DocumentFilter

router = GovernedRouter(tags=["documents"])

Reader = Annotated[Subject, Depends(require(Scope.KB_READ))]
Writer = Annotated[Subject, Depends(require(Scope.RAG_INGEST, base=Permission.WRITE))]


@router.get("/knowledge-bases/{base}/documents")
async def list_documents(
    caller: Reader,
    services: Services,
    session: Transaction,
    page: PageQuery,
    base: str,
    status: Annotated[DocumentStatus | None, Query(description="Only documents of this status.")] = None,
    q: Annotated[str | None, Query(max_length=200, description="Part of the title.")] = None,
    external_id: Annotated[str | None, Query(max_length=1000, description="The source's own id.")] = None,
) -> Listing[DocumentOut]:
    """The documents that you may see, oldest first.

    Who may only read sees none before its first text answers.
    """
    wanted = DocumentFilter(status, q, external_id)
    return page.answer(await services.documents.page(session, caller, base, wanted, page.request))


@router.get("/knowledge-bases/{base}/documents/{document}")
async def get_document(
    caller: Reader, services: Services, session: Transaction, tags: ETag, base: str, document: str
) -> DocumentOut:
    """One document, without its text.

    404 also before its first text answers, for who may only read.
    """
    found = await services.documents.get(session, caller, base, document)
    return tags.show(found, found.revision)


@router.get(
    "/knowledge-bases/{base}/documents/{document}/content",
    response_model=ContentOut,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def get_document_content(
    request: Request, caller: Reader, services: Services, base: str, document: str
) -> ContentOut | Response:
    """The text of the version that answers: JSON, or bare text with `Accept: text/plain`.

    Parts that you may not read are spaces, so that the positions of citations stay true.
    """
    async with services.database.transaction(caller.tenant) as session:
        content, evidence = await read_content(session, caller, base, document)
    await services.audit.flush(evidence)
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(content.content)
    return content


@router.get("/knowledge-bases/{base}/documents/{document}/versions")
async def list_document_versions(
    caller: Reader, services: Services, session: Transaction, page: PageQuery, base: str, document: str
) -> Listing[VersionOut]:
    """The versions of a document, newest first."""
    return page.answer(await services.documents.versions(session, caller, base, document, page.request))


@router.get("/knowledge-bases/{base}/documents/{document}/chunks/{chunk}")
async def get_chunk(caller: Reader, services: Services, base: str, document: str, chunk: str) -> ChunkOut:
    """Open a citation: one passage of the version that answers, under the rights of a query."""
    async with services.database.transaction(caller.tenant) as session:
        found, evidence = await read_chunk(session, caller, base, document, chunk)
    await services.audit.flush(evidence)
    return found


@router.patch("/knowledge-bases/{base}/documents/{document}")
async def update_document(
    caller: Writer,
    services: Services,
    session: Transaction,
    tags: ETag,
    base: str,
    document: str,
    patch: DocumentPatch,
) -> DocumentOut:
    """Change title or metadata; nothing is embedded anew."""
    changed = await services.documents.patch(session, caller, base, document, patch, revision=tags.expected)
    return tags.show(changed, changed.revision)


@router.put("/knowledge-bases/{base}/documents/{document}/acl")
async def set_document_acl(
    caller: Writer,
    services: Services,
    tags: ETag,
    base: str,
    document: str,
    acl: DocumentAcl,
) -> DocumentOut:
    """Change who may read a document; it binds for the next query. What is not named keeps its value.

    Lowering a level takes `manage` in the base, and a `reason`. A passage that `chunk_readers` divide is cut
    anew by a worker; until then all of it is kept from whom a part of it is kept from.
    """
    changed = await services.document_rights.set_acl(caller, base, document, acl, revision=tags.expected)
    return tags.show(changed, changed.revision)


@router.delete("/knowledge-bases/{base}/documents/{document}")
async def delete_document(
    caller: Writer, services: Services, tags: ETag, base: str, document: str
) -> ReceiptOut:
    """Delete a document with its vectors in every generation, and return the receipt.

    503 `vector_store_unavailable` when the index does not answer: the document is out of sight all the
    same, and `GET /v1/deletion-receipts/{receipt}` tells when it is really gone, by `details.receipt_id`.
    """
    return await services.deletions.delete(caller, base, document, tags.expected)
