"""Checks the audit chain three ways: by the API, without the database, and with one entry changed."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eai.audit.actions import AuditAction
from eai.cli.demo.api import Api, DemoFailed
from eai.integrations.anchor import read_anchor

if TYPE_CHECKING:
    from eai.audit.verification import Report

_QUERY = f'"action\\":\\"{AuditAction.KNOWLEDGE_QUERY}\\"'
_ALLOWED, _DENIED = '"decision":"allow"', '"decision":"deny"'


@dataclass(frozen=True, slots=True)
class Proof:
    """What the checks found. `forged_at` is the entry that the verifier named in the forged copy."""

    events: int
    offline_events: int
    anchored_seq: int
    forged_seq: int
    forged_at: int | None


async def prove(administrator: Api, folder: Path, anchor: Path) -> Proof:
    """Verify the chain, its export, and a forged copy. Raises DemoFailed when one is not as it must be."""
    online = await administrator.get("/v1/audit/verify")
    if not online["valid"]:
        raise DemoFailed(f"the audit chain is broken at entry {online['first_bad_seq']}")
    export = folder / "audit-export.jsonl"
    await administrator.download("/v1/audit/export", export)
    offline = _verified(export, anchor)
    if not offline.valid:
        raise DemoFailed(f"the exported chain is broken at entry {offline.first_bad_seq}")
    forged, forged_seq = _forge(export)
    found = _verified(forged, anchor)
    if found.valid:
        raise DemoFailed(f"a changed entry {forged_seq} went unnoticed")
    return Proof(
        events=online["events"],
        offline_events=offline.events,
        anchored_seq=offline.anchored_seq,
        forged_seq=forged_seq,
        forged_at=found.first_bad_seq,
    )


def _verified(export: Path, anchor: Path) -> "Report":
    from eai.audit.offline import verify_export  # noqa: PLC0415 - help should not wait for it

    return verify_export(export, anchored=lambda tenant: read_anchor(anchor, tenant), processes=1)


def _forge(export: Path) -> tuple[Path, int]:
    """A copy in which the decision on one query is turned, with the number of that entry."""
    lines = export.read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("[") and _QUERY in line)
    seq, *rest = json.loads(lines[at])
    turned = [part.replace(_ALLOWED, _DENIED) if isinstance(part, str) else part for part in rest]
    lines[at] = json.dumps([seq, *turned], ensure_ascii=False, separators=(",", ":"))
    forged = export.with_name("audit-export-forged.jsonl")
    forged.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return forged, int(seq)
