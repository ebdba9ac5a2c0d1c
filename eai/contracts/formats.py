"""The formats that contracts name, as the operations read them."""

from datetime import datetime
from uuid import UUID

from jsonschema import FormatChecker


def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or bool(UUID(value))


def _is_instant(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


FORMATS = FormatChecker(formats=())
FORMATS.checks("uuid", raises=ValueError)(_is_uuid)
FORMATS.checks("date-time", raises=ValueError)(_is_instant)
