"""What is promised to clients, written from the code: `python -m eai.api.contracts`.

With `--check` nothing is written, and the exit code tells whether anything is out of date. A change that
would break clients is explained, and written with `--breaking` only.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from eai.api.error_reference import ReferenceFault, contract_of, error_codes, page_of
from eai.api.openapi import describe
from eai.api.promises import SCHEMA, broken
from eai.api.v1 import routers
from eai.audit.actions import AuditAction
from eai.audit.fields import FIELDS
from eai.contracts.catalogue import CONTRACTS

ROOT = Path(__file__).resolve().parents[2]
PROMISED = ROOT / "contracts" / "v1"


def contracts() -> Mapping[Path, str]:
    """Every generated file and what it must hold. Raises ReferenceFault."""
    codes = error_codes()
    routes = [route for router in routers() for route in router.routes]
    return {
        PROMISED / "errors.json": contract_of(codes),
        PROMISED / "openapi.json": _json(describe(routes)),
        PROMISED / "audit-events.json": _json({"actions": [_event(each) for each in sorted(AuditAction)]}),
        ROOT / "docs" / "reference" / "errors.md": page_of(codes),
        **{PROMISED / contract.file_name: _json(contract.schema) for contract in CONTRACTS},
    }


def outdated() -> Mapping[Path, str | None]:
    """The files that differ from what the code says, and what they must hold; None: there must be none."""
    wanted = contracts()
    gone = sorted(set(PROMISED.glob(f"*{SCHEMA}")) - set(wanted))
    return {path: text for path, text in wanted.items() if _held(path) != text} | dict.fromkeys(gone)


def breaking(changes: Mapping[Path, str | None]) -> list[str]:
    """What of `changes` would break clients, a sentence each."""
    sentences = (
        f"{path.name}: {sentence}"
        for path, text in changes.items()
        if path.parent == PROMISED and (held := _held(path)) is not None
        for sentence in broken(path.name, held, text)
    )
    # A part that several kinds have in common breaks in each of them.
    return list(dict.fromkeys(sentences))


def _event(action: AuditAction) -> Mapping[str, object]:
    fields = FIELDS[action]
    return {
        "action": action,
        "resources": fields.resources,
        "facts": sorted(fields.facts),
        "details": sorted(fields.details),
    }


def _held(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def main(arguments: list[str]) -> int:
    """Write what is out of date, or only name it; what breaks clients is said, and not written unasked."""
    try:
        changes = outdated()
    except ReferenceFault as fault:
        _say(str(fault))
        return 1
    breaks = breaking(changes)
    for path in changes:
        print(path.relative_to(ROOT))  # noqa: T201 - a command line tool
    if breaks:
        _say("This breaks clients of /v1:", *(f"- {sentence}" for sentence in breaks))
    if "--check" in arguments:
        return 1 if changes else 0
    if breaks and "--breaking" not in arguments:
        _say("Nothing was written. Keep the promise, or write it anew with `--breaking`.")
        return 1
    for path, text in changes.items():
        _write(path, text)
    return 0


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr)  # noqa: T201 - a command line tool


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
