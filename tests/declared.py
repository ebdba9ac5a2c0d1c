"""Holds every audit entry that a running platform writes to what is promised of its kind."""

from collections.abc import Iterable

from eai.audit.entries import AuditEntry
from eai.audit.fields import undeclared
from eai.audit.service import Audit


def hold_to_promises(audit: Audit) -> None:
    """From here on an entry that tells more than is promised is refused, and fails what wrote it."""
    append, seal, flush = audit.append, audit.seal, audit.flush

    async def appended(session, entry):
        _check((entry,))
        return await append(session, entry)

    async def sealed(entry):
        _check((entry,))
        return await seal(entry)

    async def flushed(evidence):
        _check(evidence.entries)
        await flush(evidence)

    audit.append, audit.seal, audit.flush = appended, sealed, flushed  # type: ignore[method-assign]


def _check(entries: Iterable[AuditEntry]) -> None:
    for entry in entries:
        beyond = undeclared(entry)
        assert beyond == [], f"eai/audit/fields.py does not promise of {entry.action}: {beyond}"
