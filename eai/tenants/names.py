"""Names that people give to things: what they may hold, and the one form they are kept in."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError, PydanticKnownError

from eai.kernel.canonical import nfc

MAX_NAME_LENGTH = 200

# Control and line-breaking characters forge lines in logs and lists; lone surrogates cannot be stored.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Overrides of the writing direction, and tags, make a name read as another one.
_REFUSED_CHARACTERS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") | {
    chr(code) for code in range(0xE0000, 0xE0080)
}


def clean_name(text: str, *, limit: int = MAX_NAME_LENGTH) -> str:
    """`text` in NFC without surrounding space. Refuses characters that deceive whoever reads it."""
    # NFC may shorten a text, so the limit is for its result; a megabyte is not worth the attempt.
    name = nfc(text).strip() if len(text) <= 10 * limit else text
    if not name:
        raise PydanticKnownError("string_too_short", {"min_length": 1})
    if len(name) > limit:
        raise PydanticKnownError("string_too_long", {"max_length": limit})
    if any(unicodedata.category(c) in _REFUSED_CATEGORIES or c in _REFUSED_CHARACTERS for c in name):
        raise PydanticCustomError("control_characters", "String should not hold control characters")
    return name


Name = Annotated[
    str,
    AfterValidator(clean_name),
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_LENGTH}),
]
"""What people call a thing."""

Region = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
"""Where a provider computes. The parts go from wide to narrow: `eu-west-1` lies in `eu-west`, and in `eu`."""

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$", max_length=63)]
"""What names a tenant in addresses: ASCII letters, digits and inner hyphens."""
