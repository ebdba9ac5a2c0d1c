"""Where a document's passages are, and which answers cited it."""

from typing import Annotated

from fastapi import Depends, Query

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.lineage.schemas import ChunkLineage, CitingAnswer, DocumentLineage, VersionLineage

router = GovernedRouter(prefix="/v1/lineage/knowledge-bases/{base}/documents/{document}", tags=["lineage"])

Reader = Annotated[Subject, Depends(require(Scope.KB_READ, Scope.AUDIT_READ, any_of=True))]
OfVersion = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="Only this version's, by its number.")
]


@router.get("")
async def get_document_lineage(
    caller: Reader, services: Services, base: str, document: str
) -> DocumentLineage:
    """What became of a document, in ids, numbers and hashes. Auditors are told of removed ones too."""
    async with services.database.transaction(caller.tenant) as session:
        shown, evidence = await services.lineage.document(session, caller, base, document)
    await services.audit.flush(evidence)
    return shown


@router.get("/versions")
async def list_version_lineage(
    caller: Reader, services: Services, page: PageQuery, base: str, document: str
) -> Listing[VersionLineage]:
    """Each version with the hashes of what it was made of and says, and the generations that hold it."""
    async with services.database.transaction(caller.tenant) as session:
        found, evidence = await services.lineage.versions(session, caller, base, document, page.request)
    await services.audit.flush(evidence)
    return page.answer(found)


@router.get("/chunks")
async def list_chunk_lineage(
    caller: Reader, services: Services, page: PageQuery, base: str, document: str, version: OfVersion = None
) -> Listing[ChunkLineage]:
    """The passages and the generations that hold them; without `audit:read`, those you may read."""
    async with services.database.transaction(caller.tenant) as session:
        found, evidence = await services.lineage.chunks(
            session, caller, base, document, page.request, version
        )
    await services.audit.flush(evidence)
    return page.answer(found)


@router.get("/answers")
async def list_citing_answers(
    caller: Reader, services: Services, page: PageQuery, base: str, document: str
) -> Listing[CitingAnswer]:
    """The answers that cited the document, the oldest first; without `audit:read`, those given to you.

    They are read from the audit, a part of it for each page: go on while `has_more` says so, also after a
    page that holds none.
    """
    async with services.database.transaction(caller.tenant) as session:
        found, evidence = await services.lineage.answers(session, caller, base, document, page.request)
    await services.audit.flush(evidence)
    return page.answer(found)
