"""Documents come in: as text in JSON, or as a file; new ones, and new texts of those that are there."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from fastapi import Depends, Header
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import Request
from starlette.responses import Response

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import IsRepeated, NewId, Services
from eai.api.etags import ETag, Tags
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.intake import JSON, MIB, MULTIPART, accepts, validated
from eai.api.requirement import require
from eai.api.uploads import form_media, is_upload, read_upload
from eai.ingestion.schemas import (
    DocumentFields,
    DocumentReplacement,
    DocumentSubmission,
    Name,
    ReplacementFields,
)
from eai.ingestion.submission import Accepted, Revision, Submission, Text
from eai.kernel.ids import DocumentId
from eai.knowledge.bases.access import authorise
from eai.knowledge.documents.schemas import DocumentOut, DocumentStatus
from eai.quarantine.schemas import FindingOut
from eai.quarantine.service import findings_told

if TYPE_CHECKING:
    from eai.bootstrap import Platform

router = GovernedRouter(tags=["documents"])

Writer = Annotated[Subject, Depends(require(Scope.RAG_INGEST, base=Permission.WRITE))]

# JSON may need up to six bytes for one character of the content.
_MAX_BODY_BYTES = 32 * MIB
_RETRY_AFTER_S = "1"


class FileSubmission(DocumentFields):
    """The fields beside an uploaded file. `title` defaults to the file's name."""

    file: Name | None = None


class SubmittedOut(DocumentOut):
    """The document, and the gravest reasons why its newest text is held; null where it is not."""

    findings: list[FindingOut] | None = None


class FileReplacement(ReplacementFields):
    """The fields beside an uploaded file that replaces a document's text."""

    file: Name | None = None


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """What the document says of a model that FastAPI does not see; what it is made of is described there."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {name: value for name, value in schema.items() if name != "$defs"}


def _body(as_json: type[BaseModel], as_form: type[BaseModel]) -> dict[str, Any]:
    content = {JSON: {"schema": _schema(as_json)}, MULTIPART: form_media(_schema(as_form))}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/knowledge-bases/{base}/documents",
    status_code=201,
    response_model=SubmittedOut,
    responses={
        200: {"description": "The same document was there already."},
        202: {"description": "Accepted."},
    },
    openapi_extra=_body(DocumentSubmission, FileSubmission),
)
@accepts(JSON, MULTIPART, max_bytes=_MAX_BODY_BYTES)
async def create_document(
    base: str,
    request: Request,
    response: Response,
    caller: Writer,
    services: Services,
    new_id: NewId,
    is_repeated: IsRepeated,
    prefer: Annotated[str | None, Header()] = None,
) -> SubmittedOut:
    """Take a document in.

    A text in JSON is processed while you wait: 201 once it can be found, or once it is `quarantined`, with
    `findings`: then a data steward decides. With `Prefer: respond-async`,
    for every file, and for a text that takes longer than 30 seconds the answer is 202 and `Location`
    tells where to follow it. The same content again is 200 with the document that is there. A live
    `external_id`, or file name, names the document that this is another text of: 202, as with PUT.
    """
    submission = replace(await _submission(request, DocumentId(new_id)), is_repeated=is_repeated)
    waits = isinstance(submission.fields, DocumentSubmission) and not _prefers_async(prefer)
    accepted = await services.ingestion.ingest(caller, base, submission, waits=waits)
    return await _shown(caller, services, base, accepted, response)


@router.put(
    "/knowledge-bases/{base}/documents/{document}",
    response_model=SubmittedOut,
    responses={202: {"description": "The new text is on its way; until then the old one answers."}},
    openapi_extra=_body(DocumentReplacement, FileReplacement),
)
@replay(Replay.KEPT)
@accepts(JSON, MULTIPART, max_bytes=_MAX_BODY_BYTES)
async def replace_document(
    base: str,
    document: str,
    request: Request,
    response: Response,
    caller: Writer,
    services: Services,
    tags: ETag,
    new_id: NewId,
    is_repeated: IsRepeated,
) -> SubmittedOut:
    """Give a document another text, in place: its id, its creation time and its statistics stay.

    What is not named keeps its value. Another text is 202, and the old one answers until the new one can
    be found; new `readers` and `classification` bind the old one at once. The same text is not processed
    again: the other fields are applied, and the answer is 200. If it had failed, it is queued again.
    """
    revision = await _revision(request, new_id)
    accepted = await services.ingestion.replace(
        caller, base, document, replace(revision, is_repeated=is_repeated), expected=tags.expected
    )
    return await _shown(caller, services, base, accepted, response, tags)


@router.post(
    "/knowledge-bases/{base}/documents/{document}/retry", status_code=202, response_model=SubmittedOut
)
async def retry_document(
    base: str, document: str, response: Response, caller: Writer, services: Services, tags: ETag
) -> SubmittedOut:
    """Queue a text that failed again. 409 `nothing_to_retry` where the newest text did not fail."""
    accepted = await services.ingestion.retry(caller, base, document, expected=tags.expected)
    return await _shown(caller, services, base, accepted, response, tags)


async def _shown(
    caller: Subject,
    services: "Platform",
    base: str,
    accepted: Accepted,
    response: Response,
    tags: Tags | None = None,
) -> SubmittedOut:
    """The document as it is now, with what the client needs to follow it."""
    async with services.database.transaction(caller.tenant) as session:
        handle = await authorise(session, caller, base)
        described = await services.documents.describe(session, caller, handle, accepted.document)
        document = SubmittedOut(**dict(described), findings=await _findings(session, caller, described))
    response.headers["location"] = f"/v1/knowledge-bases/{document.knowledge_base_id}/documents/{document.id}"
    if not accepted.is_new:
        response.status_code = 200
    elif accepted.job is not None:
        response.status_code = 202
        response.headers["retry-after"] = _RETRY_AFTER_S
        # It may have ended since, and the document tells of it no more.
        document = document.model_copy(update={"job_id": accepted.job})
    return document if tags is None else tags.show(document, document.revision)


async def _findings(session: AsyncSession, caller: Subject, document: DocumentOut) -> list[FindingOut] | None:
    newest = document.pending_version or document
    if newest.status is not DocumentStatus.QUARANTINED:
        return None
    return await findings_told(session, caller.tenant, caller.principal, document.id)


async def _submission(request: Request, document: DocumentId) -> Submission:
    if is_upload(request):
        upload = await read_upload(request)
        named = {"title": upload.text.filename or "", **upload.values, "file": upload.text.filename}
        return Submission(document, validated(FileSubmission, named), upload.text, upload.given)
    fields = validated(DocumentSubmission, await request.json())
    return Submission(document, fields, _text(fields.content, fields), frozenset(fields.model_fields_set))


async def _revision(request: Request, id_: UUID) -> Revision:
    if is_upload(request):
        upload = await read_upload(request)
        named = {**upload.values, "file": upload.text.filename}
        return Revision(id_, validated(FileReplacement, named), upload.text, upload.given)
    fields = validated(DocumentReplacement, await request.json())
    text = None if fields.content is None else _text(fields.content, fields)
    return Revision(id_, fields, text, frozenset(fields.model_fields_set))


def _text(content: str, fields: DocumentSubmission | DocumentReplacement) -> Text:
    is_typed = "content_type" in fields.model_fields_set
    return Text(content.encode(), fields.content_type if is_typed else None)


def _prefers_async(prefer: str | None) -> bool:
    return prefer is not None and "respond-async" in {part.strip().lower() for part in prefer.split(",")}
