"""The canonical bytes of an entry, and the salted commitment that stands in them for what is private."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from eai.audit.entries import Actor, AuditEntry, Resource
from eai.audit.timestamps import timestamp
from eai.kernel.canonical import Canonical, canonical, nfc
from eai.platform.context import WorkContext

VERSION = 1
SALT_BYTES = 32


@dataclass(frozen=True, slots=True)
class PrivateValues:
    """What may be personal in an event: salted, so that the commitment cannot be guessed open."""

    salted: bytes

    @classmethod
    def of(cls, values: Mapping[str, Canonical]) -> "PrivateValues":
        """`values` with a fresh salt before them."""
        return cls(secrets.token_bytes(SALT_BYTES) + canonical(_normal(values)))

    @property
    def commitment(self) -> bytes:
        """What the chain holds of them."""
        return sha256(self.salted).digest()

    @property
    def text(self) -> bytes:
        """The values as canonical JSON."""
        return self.salted[SALT_BYTES:]


def entry_body(
    entry: AuditEntry, occurred_at: datetime, work: WorkContext, private: PrivateValues | None
) -> bytes:
    """The bytes of `entry` as the chain will hold and hash them. Raises ValueError for a float.

    They hold no seq: the database gives it under the lock of the chain's head, and the hash covers it.
    """
    fields: dict[str, Canonical] = {
        "v": VERSION,
        "tenant": str(entry.tenant),
        "occurred_at": timestamp(occurred_at),
        "action": entry.action.value,
        "decision": entry.decision.value,
        "actor": _actor(entry.actor) if entry.actor else None,
        "resource": _resource(entry.resource) if entry.resource else None,
        "request_id": _visible(work.request_id),
        "facts": {name: _fact(value) for name, value in entry.facts.items()},
        "details_commitment": private.commitment.hex() if private else None,
    }
    if work.trace_id:
        fields["trace_id"] = _visible(work.trace_id)
    return canonical(fields)


def _actor(actor: Actor) -> dict[str, Canonical]:
    return {
        "kind": actor.kind,
        "principal": str(actor.principal) if actor.principal else None,
        "api_key": str(actor.api_key) if actor.api_key else None,
    }


def _resource(resource: Resource) -> dict[str, Canonical]:
    return {"kind": _visible(resource.kind), "id": _visible(resource.id)}


def _fact(value: Canonical) -> Canonical:
    if isinstance(value, str):
        return _visible(value)
    if isinstance(value, Mapping):
        return {name: _fact(member) for name, member in value.items()}
    return [_fact(member) for member in value] if isinstance(value, list | tuple) else value


def _visible(text: str) -> str:
    """`text` with control characters spelled out: nothing in a chain may move a reader's cursor.

    PostgreSQL's JSON could not hold U+0000 either.
    """
    if text.isascii() and text.isprintable():
        return str(text)
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return nfc(shown)


def _normal(value: Canonical) -> Canonical:
    """`value` with texts as people typed them, but in the one normal form; lone surrogates become `?`."""
    if isinstance(value, str):
        return value if value.isascii() else nfc(value.encode("utf-8", "replace").decode())
    if isinstance(value, Mapping):
        return {name: _normal(member) for name, member in value.items()}
    return [_normal(member) for member in value] if isinstance(value, list | tuple) else value
