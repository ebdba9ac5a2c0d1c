"""Documents come in: as text in JSON, or as a file."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends, Header
from pydantic import BaseModel
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import IsRepeated, NewId, Services
from eai.api.governed_route import GovernedRouter
from eai.api.intake import JSON, MIB, MULTIPART, accepts, validated
from eai.api.json_body import parse_json
from eai.api.requirement import require
from eai.ingestion.acceptance import Accepted, Submission
from eai.ingestion.schemas import DocumentFields, DocumentSubmission, Name
from eai.kernel.errors import InvalidInput
from eai.kernel.ids import DocumentId
from eai.knowledge.bases.access import authorise
from eai.knowledge.documents.schemas import DocumentOut

router = GovernedRouter(tags=["documents"])

Writer = Annotated[Subject, Depends(require(Scope.RAG_INGEST, base=Permission.WRITE))]

# JSON may need up to six bytes for one character of the content.
_MAX_BODY_BYTES = 32 * MIB
_JSON_FIELDS = frozenset({"metadata", "labels", "readers"})
_RETRY_AFTER_S = "1"


class FileSubmission(DocumentFields):
    """The fields beside an uploaded file. `title` defaults to the file's name."""

    file: Name | None = None


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """What the document says of a model that FastAPI does not see; what it is made of is described there."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {name: value for name, value in schema.items() if name != "$defs"}


_REQUEST_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": _schema(DocumentSubmission)},
            MULTIPART: {"schema": _schema(FileSubmission)},
        },
    }
}


@router.post(
    "/knowledge-bases/{base}/documents",
    status_code=201,
    response_model=DocumentOut,
    responses={
        200: {"description": "The same document was there already."},
        202: {"description": "Accepted."},
    },
    openapi_extra=_REQUEST_BODY,
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
) -> DocumentOut:
    """Take a document in.

    A text in JSON is processed while you wait: 201 once it can be found. With `Prefer: respond-async`,
    for every file, and for a text that takes longer than 30 seconds the answer is 202 and `Location`
    tells where to follow it. The same content again is 200 with the document that is there.
    """
    submission = replace(await _submission(request, DocumentId(new_id)), is_repeated=is_repeated)
    waits = isinstance(submission.fields, DocumentSubmission) and not _prefers_async(prefer)
    accepted = await services.ingestion.ingest(caller, base, submission, waits=waits)
    async with services.database.transaction(caller.tenant) as session:
        handle = await authorise(session, caller, base)
        document = await services.documents.describe(session, caller, handle, accepted.document)
    response.headers["location"] = f"/v1/knowledge-bases/{document.knowledge_base_id}/documents/{document.id}"
    _tell_how_it_went(response, accepted)
    return document


def _tell_how_it_went(response: Response, accepted: Accepted) -> None:
    if not accepted.is_new:
        response.status_code = 200
    elif accepted.job is not None:
        response.status_code = 202
        response.headers["retry-after"] = _RETRY_AFTER_S


async def _submission(request: Request, document: DocumentId) -> Submission:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == MULTIPART:
        return await _from_file(request, document)
    fields = validated(DocumentSubmission, await request.json())
    return Submission(document, fields, fields.content.encode(), fields.content_type)


async def _from_file(request: Request, document: DocumentId) -> Submission:
    form = await request.form()
    file = form.get("file")
    if not isinstance(file, UploadFile) or len(form.getlist("file")) != 1:
        raise InvalidInput.field("file", "missing", "exactly one file is required")
    values = {name: _value(name, value) for name, value in form.multi_items() if name != "file"}
    filename = (file.filename or "").rpartition("/")[2].rpartition("\\")[2][:255]
    fields = validated(FileSubmission, {"title": filename, **values, "file": filename or None})
    return Submission(document, fields, await file.read(), file.content_type or "", fields.file)


def _value(name: str, value: str | UploadFile) -> Any:
    if isinstance(value, UploadFile):
        raise InvalidInput.field(name, "unexpected", "only the part `file` may be a file")
    return parse_json(value.encode()) if name in _JSON_FIELDS else value


def _prefers_async(prefer: str | None) -> bool:
    return prefer is not None and "respond-async" in {part.strip().lower() for part in prefer.split(",")}
