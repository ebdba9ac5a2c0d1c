"""Forms of files and fields as this API accepts them: whole, and in UTF-8."""

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

MAX_FILES = 100
MAX_FIELDS = 1000
MAX_FIELD_BYTES = 1024 * 1024


class FormInvalid(ValueError):
    """The body is not such a form."""


async def read_form(request: Request) -> FormData:
    """The form in the body of `request`, empty where there is no body; whoever reads it closes it.

    Raises FormInvalid.
    """
    media_type, options = parse_options_header(request.headers.get("content-type"))
    if media_type != b"multipart/form-data":
        return FormData()
    # Python knows dozens of encodings; some of them fail, some give text that cannot be stored.
    if options.get(b"charset", b"utf-8").lower() != b"utf-8":
        raise FormInvalid
    try:
        return await _WholeForm(
            request.headers,
            request.stream(),
            max_files=MAX_FILES,
            max_fields=MAX_FIELDS,
            max_part_size=MAX_FIELD_BYTES,
        ).parse()
    except MultiPartException as error:
        raise FormInvalid from error


class _WholeForm(MultiPartParser):
    """Refuses a form whose end is missing: the field that was cut off may have been a restriction."""

    _is_whole = False

    def on_end(self) -> None:
        self._is_whole = True

    async def parse(self) -> FormData:
        form = await super().parse()
        if not self._is_whole:
            for file in self._files_to_close_on_error:
                file.close()
            raise MultiPartException("the end is missing")
        return form
