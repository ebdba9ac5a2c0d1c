"""How a connector, and the service that stamps it, are called."""

import re
from uuid import UUID

_ID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
_SERVICE = "service:"


def spells_id(text: str) -> bool:
    """Whether `text` is an id in one of its spellings; such a text is nobody's name."""
    return _ID.fullmatch(text) is not None


def read_connector(reference: str) -> UUID | str | None:
    """The id or the name that `reference` spells, or None if it is neither."""
    if spells_id(reference):
        return UUID(reference)
    return reference if _NAME.fullmatch(reference) else None


def read_service(reference: str) -> UUID | None:
    """The id in `service:<id>`, or a bare one; None for anything else."""
    id_ = reference.removeprefix(_SERVICE)
    return UUID(id_) if spells_id(id_) else None


def service(id_: UUID) -> str:
    """How access lists name a service."""
    return f"{_SERVICE}{id_}"
