"""Every error code, gathered from the code and written where clients read it.

`python -m eai.api.error_reference` writes `contracts/v1/errors.json` and `docs/reference/errors.md`;
with `--check` it changes nothing and fails when they are out of date.
"""

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import eai
from eai.kernel.errors import EaiError
from eai.platform.i18n import Language, Message, messages, placeholders

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "contracts" / "v1" / "errors.json"
PAGE = ROOT / "docs" / "reference" / "errors.md"


class ReferenceFault(Exception):
    """Codes and messages do not fit together; the text lists every mismatch."""


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One code as clients meet it."""

    code: str
    status: int
    retryable: bool
    meaning: str
    message: Message


def error_codes() -> list[ErrorCode]:
    """Every code, sorted. Raises ReferenceFault when a class lacks words or two classes disagree."""
    _import_everything()
    known = messages()
    faults: list[str] = []
    found: dict[str, ErrorCode] = {}
    for cls in sorted(_subclasses(EaiError), key=lambda c: (c.code, c.__module__)):
        place = f"{cls.__module__}.{cls.__name__}"
        if cls.code not in known:
            faults.append(
                f"{cls.code} ({place}) has no words: add them to eai/platform/messages/<slice>.toml"
            )
            continue
        meaning = (cls.__doc__ or "").strip().partition("\n")[0]
        entry = ErrorCode(cls.code, cls.status, cls.retryable, meaning, known[cls.code])
        first = found.setdefault(cls.code, entry)
        if (first.status, first.retryable) != (entry.status, entry.retryable):
            faults.append(f"{cls.code} ({place}) has another status or retryable elsewhere")
    faults += [f"{code} has words and no error class" for code in sorted(set(known) - set(found))]
    faults += list(_uneven(known))
    if faults:
        raise ReferenceFault("\n".join(faults))
    return list(found.values())


def contract_of(codes: list[ErrorCode]) -> str:
    """What `contracts/v1/errors.json` holds."""
    entries = [
        {
            "code": entry.code,
            "status": entry.status,
            "retryable": entry.retryable,
            "details": sorted(entry.message.placeholders),
            "message_i18n": {language.value: entry.message[language] for language in Language},
        }
        for entry in codes
    ]
    return json.dumps({"errors": entries}, ensure_ascii=False, indent=2) + "\n"


def page_of(codes: list[ErrorCode]) -> str:
    """What `docs/reference/errors.md` holds."""
    sections = "\n".join(_section(entry) for entry in codes)
    return _PREFACE + sections


def _section(entry: ErrorCode) -> str:
    status = f"{entry.status} {HTTPStatus(entry.status).phrase}"
    again = "may be repeated as it is" if entry.retryable else "repeating it unchanged will not help"
    named = ", ".join(f"`{name}`" for name in sorted(entry.message.placeholders))
    details = f" Details: {named}." if named else ""
    return (
        f"## {entry.code}\n\n"
        f"{status}; {again}. {entry.meaning}{details}\n\n"
        f"- en: {entry.message[Language.EN]}\n"
        f"- fr: {entry.message[Language.FR]}\n"
    )


def _uneven(known: Mapping[str, Message]) -> Iterator[str]:
    for code, message in known.items():
        if len({placeholders(text) for text in message.values()}) > 1:
            yield f"{code} names different details in different languages"


def _subclasses(cls: type[EaiError]) -> Iterator[type[EaiError]]:
    for child in cls.__subclasses__():
        if child.__module__.startswith("eai."):
            yield child
        yield from _subclasses(child)


def _import_everything() -> None:
    for module in pkgutil.walk_packages(eai.__path__, "eai."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)


def main(arguments: list[str]) -> int:
    """Write the reference, or compare it with what is there."""
    try:
        codes = error_codes()
    except ReferenceFault as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command line tool
        return 1
    wanted = {CONTRACT: contract_of(codes), PAGE: page_of(codes)}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: make contracts", file=sys.stderr)  # noqa: T201
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], "utf-8")
    return 0


_PREFACE = """\
# Error codes

Every refusal is an `application/problem+json` document whose `error.code` is one of these. Codes and
statuses are promised within `/v1`; the words may improve. `error.details` holds what a message names, and
for `invalid_input` a list `fields` of `{path, code, message}`.

This page is generated by `python -m eai.api.error_reference` from the code and its catalogues.

"""

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
