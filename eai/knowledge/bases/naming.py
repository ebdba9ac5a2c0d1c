"""How a base is called in addresses: its uuid, or an alias made once from its first name."""

import re
import unicodedata
from uuid import UUID

from eai.kernel.ids import BaseId

_MAX_SLUG_LENGTH = 48
_SEPARATORS = re.compile(r"[^a-z0-9_]+")
_ALIAS = re.compile(r"kb_[a-z0-9][a-z0-9_-]{0,63}")
_HEX = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def alias_of(name: str, base: BaseId) -> str:
    """`kb_` and the slug of `name`; where no letter or digit of it is ASCII, part of the id stands in."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    folded = "".join(letter for letter in letters if not unicodedata.combining(letter))
    slug = _SEPARATORS.sub("-", folded).strip("-_")[:_MAX_SLUG_LENGTH].rstrip("-_")
    return f"kb_{slug or base.hex[:8]}"


def distinct_alias(name: str, base: BaseId) -> str:
    """The alias where the plain one belongs to a base that its creator cannot see."""
    return f"{alias_of(name, base)}-{base.hex[:8]}"


def read_reference(reference: str) -> BaseId | str | None:
    """The id or the alias that `reference` spells, or None if it is neither."""
    if _HEX.fullmatch(reference):
        return BaseId(UUID(reference))
    return reference if _ALIAS.fullmatch(reference) else None
