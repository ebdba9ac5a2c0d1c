"""What is told of each input field that was refused: where, which fault, and never the value."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError

from eai.kernel.errors import EaiError, InvalidInput, NotFound
from eai.platform.i18n import Language, field_messages

MOST_FAULTS = 50
_LONGEST_PART = 100
_LONGEST_PATH = 500
_PLACES = frozenset({"body", "query", "header"})
_PLACE = ("line", "column")
"""Where in a long text the fault is, for who shows the text."""


def refusal_of(error: RequestValidationError) -> EaiError:
    """The refusal that a request deserves whose parts did not validate.

    A malformed id in the path is a thing that does not exist. It is told only when all else is well, so
    that a malformed, a foreign and a missing id get the same answer to the same body.
    """
    faults = [fault for fault in error.errors() if fault["loc"][0] != "path"]
    return InvalidInput(*map(_field, faults[:MOST_FAULTS])) if faults else NotFound()


def told(fields: Iterable[Mapping[str, str]], language: Language) -> list[dict[str, str]]:
    """The faults in `language`; a code without words of its own keeps the words it came with."""
    return [
        {
            "path": _printable(fault["path"]),
            "code": fault["code"],
            "message": _words(fault, language),
            **{name: fault[name] for name in _PLACE if name in fault},
        }
        for fault in fields
    ]


def _field(fault: Mapping[str, Any]) -> dict[str, str]:
    place, *path = fault["loc"]
    named = path if place in _PLACES else [place, *path]
    limits = {name: value for name, value in fault.get("ctx", {}).items() if name in _LIMITS}
    return {
        "path": dotted(named) or str(place),
        "code": fault["type"],
        **{k: str(v) for k, v in limits.items()},
    }


def dotted(path: Sequence[object]) -> str:
    """`acl.0.principal`; over-long names and paths, which can only be the caller's own, are cut."""
    return ".".join(str(part)[:_LONGEST_PART] for part in path)[:_LONGEST_PATH]


def _words(fault: Mapping[str, str], language: Language) -> str:
    known = field_messages()
    message = known.get(fault["code"])
    if message is None:
        return fault.get("message") or known["other"].say(language, {})
    return message.say(language, {name: value.replace(" or ", ", ") for name, value in fault.items()})


def _printable(text: str) -> str:
    return text[:_LONGEST_PATH].encode("utf-8", "replace").decode()


# What the schema says, never what the caller sent.
_LIMITS = frozenset({
    "discriminator", "expected", "expected_tags", "ge", "gt", "le", "lt",
    "max_length", "min_length", "pattern", "max_files", "max_fields",
})  # fmt: skip
