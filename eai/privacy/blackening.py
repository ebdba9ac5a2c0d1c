"""Puts blocks where a person stands in what is shown with a document. Pure; it takes a processor."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from eai.kernel.masking import MASK
from eai.knowledge.documents.drafts import DocumentChanges
from eai.knowledge.models import KnowledgeDocument
from eai.platform.schema import Json
from eai.privacy.identifiers import Identifiers
from eai.privacy.text_rows import DocumentState
from eai.privacy.texts import CONNECTOR, REVIEW, TEXT, fields_of, texts_in
from eai.quarantine.judgement import masked

_WORDED = frozenset({"title", "metadata", "metadata_"})
_REDACTABLE = frozenset({"title", "source_uri", "metadata", "intended", CONNECTOR, TEXT, REVIEW})
"""A connector has its name from whoever made it, and all else can be redacted: it is told as found again."""

_IN_NAMES = "_"
"""A block cannot stand in the name of a member: whoever sends back what was read would be refused."""


def may_redact(fields: Collection[str]) -> bool:
    """Whether everything that holds the person can be written anew: what a source calls its own cannot."""
    return _REDACTABLE.issuperset(fields)


@dataclass(frozen=True, slots=True)
class Blackening:
    """Puts blocks where the person stands. It takes a processor."""

    identifiers: Identifiers

    def masked(self, text: str) -> str:
        return masked(text, tuple((place.start, place.end) for place in self.identifiers.places(text)))

    def fields(self, document: DocumentState) -> tuple[DocumentChanges, Mapping[UUID, Json], bool]:
        """What is to change of the fields, what versions are to bring, and whether either is clean then."""
        changes = self._changes(document.row)
        intended = {each.id: self._intended(each.intended) for each in document.versions if each.intended}
        named = dict(fields_of(document)).get(CONNECTOR)
        left = [changes.title, changes.source_uri, changes.metadata, named, *intended.values()]
        return changes, intended, not self.is_in(texts_in(left))

    def is_in(self, texts: Iterable[str]) -> bool:
        """Whether the person stands in one of them."""
        return any(map(self._holds, texts))

    def _changes(self, row: KnowledgeDocument) -> DocumentChanges:
        stored = {"title": row.title, "source_uri": row.source_uri, "metadata": row.metadata_}
        redacted = self._redacted(stored)
        given = frozenset(name for name in stored if redacted[name] != stored[name])
        return DocumentChanges(given=given, **redacted)

    def _intended(self, intended: Mapping[str, Any]) -> Json:
        redacted = self._redacted(intended)
        if redacted.get("source_uri") is None and "source_uri" in intended:
            redacted["source_uri_verified"] = False
        return redacted

    def _redacted(self, fields: Mapping[str, Any]) -> Json:
        """These fields of a document without the person; those that cannot name anybody stay."""
        redacted = dict(fields)
        for name in _WORDED & fields.keys():
            redacted[name] = self._value(fields[name])
        if (uri := fields.get("source_uri")) is not None and self._holds(uri):
            # With blocks in it, it would lead somewhere else.
            redacted["source_uri"] = None
        return redacted

    def _value(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._members(value)
        if isinstance(value, list):
            return [self._value(member) for member in value]
        if isinstance(value, str):
            return self.masked(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and self._holds(str(value)) else value

    def _members(self, value: Mapping[str, Any]) -> Json:
        redacted: Json = {}
        for name, member in value.items():
            key = self.masked(str(name)).replace(MASK, _IN_NAMES)
            # Two spellings of a name are the same then: neither member may push the other out.
            while key in redacted:
                key += _IN_NAMES
            redacted[key] = self._value(member)
        return redacted

    def _holds(self, text: str) -> bool:
        return bool(self.identifiers.places(text))
