"""A document sent as a form: one file, and the fields beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request

from eai.api.intake import MULTIPART
from eai.api.json_body import parse_json
from eai.ingestion.submission import Text
from eai.kernel.errors import InvalidInput

_JSON_FIELDS = ("chunk_readers", "labels", "metadata", "readers")
_FILE = {"type": "string", "format": "binary", "title": "File", "description": "The file, exactly one."}


@dataclass(frozen=True, slots=True)
class Upload:
    """The file as a text, and what was written into the other fields."""

    text: Text
    values: Mapping[str, Any]

    @property
    def given(self) -> frozenset[str]:
        """The fields that were written."""
        return frozenset(self.values)


def form_media(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What the OpenAPI document says of a form with these fields and a file.

    The file alone is required: whatever else a document must have, the file gives it. Fields that are no
    texts are sent as JSON.
    """
    fields = {**schema["properties"], "file": _FILE}
    encoding = {name: {"contentType": "application/json"} for name in _JSON_FIELDS if name in fields}
    return {"schema": {**schema, "properties": fields, "required": ["file"]}, "encoding": encoding}


def is_upload(request: Request) -> bool:
    """Whether a form was sent."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == MULTIPART


async def read_upload(request: Request) -> Upload:
    """What was sent. Raises InvalidInput unless it is exactly one file."""
    form = await request.form()
    file = form.get("file")
    if not isinstance(file, UploadFile) or len(form.getlist("file")) != 1:
        raise InvalidInput.field("file", "missing", "exactly one file is required")
    values = {name: _value(name, value) for name, value in form.multi_items() if name != "file"}
    filename = (file.filename or "").rpartition("/")[2].rpartition("\\")[2][:255]
    return Upload(Text(await file.read(), file.content_type or "", filename or None), values)


def _value(name: str, value: str | UploadFile) -> Any:
    if isinstance(value, UploadFile):
        raise InvalidInput.field(name, "unexpected", "only the part `file` may be a file")
    return parse_json(value.encode()) if name in _JSON_FIELDS else value
