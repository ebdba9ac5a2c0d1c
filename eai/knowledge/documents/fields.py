"""What is shown with a document besides its text: it is as much somebody's words as the text is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.knowledge.documents.drafts import DocumentChanges
from eai.knowledge.models import KnowledgeDocument

TITLE, EXTERNAL_ID, SOURCE_URI, METADATA = "title", "external_id", "source_uri", "metadata"

Part = tuple[int, int, str]
"""Where something stands in the text of a field, and what it is."""
Write = Callable[[str, Sequence[Part]], str]
"""A text with something else in place of these parts of it."""


@dataclass(frozen=True, slots=True)
class ShownFields:
    """The words around a text. `external_id` is what its source calls it: often the name of a file."""

    title: str
    external_id: str | None = None
    source_uri: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: KnowledgeDocument, intended: Mapping[str, Any]) -> "ShownFields":
        """Those of a document once what a version intends has taken effect."""
        return cls(
            title=intended.get("title", row.title),
            external_id=intended.get("external_id", row.external_id),
            source_uri=intended.get("source_uri", row.source_uri),
            metadata=intended.get("metadata_", row.metadata_),
        )

    def changed(self, changes: DocumentChanges) -> "ShownFields":
        """The fields as the changes leave them."""
        given = {name: getattr(changes, name) for name in changes.given & {TITLE, SOURCE_URI, METADATA}}
        return replace(self, **given)

    @property
    def texts(self) -> Sequence[tuple[str, str]]:
        """The name of each field that says anything, and what it says.

        Metadata is one text: the values in the order of their names, a line each, and then the names.
        """
        told = (
            (TITLE, self.title), (EXTERNAL_ID, self.external_id), (SOURCE_URI, self.source_uri),
            (METADATA, "\n".join(self._lines)),
        )  # fmt: skip
        return [(name, text) for name, text in told if text]

    def without(self, parts: Mapping[str, Sequence[Part]], write: Write) -> "ShownFields":
        """The fields with something else in place of parts of their `texts`.

        What names a source, or leads to it, would name another one then, and is left out instead; so is a
        value whose name is concerned.
        """
        return ShownFields(
            title=write(self.title, parts.get(TITLE, ())),
            external_id=None if parts.get(EXTERNAL_ID) else self.external_id,
            source_uri=None if parts.get(SOURCE_URI) else self.source_uri,
            metadata=self._metadata_without(parts.get(METADATA, ()), write),
        )

    @property
    def _lines(self) -> Sequence[str]:
        # The database keeps them in an order of its own.
        names = sorted(self.metadata)
        return [*(str(self.metadata[name]) for name in names), *names]

    def _metadata_without(self, parts: Sequence[Part], write: Write) -> dict[str, Any]:
        lines, names = self._lines, sorted(self.metadata)
        starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
        inside = [
            _inside(parts, start, start + len(line)) for start, line in zip(starts, lines, strict=False)
        ]
        of_values, of_names = inside[: len(names)], inside[len(names) :]
        return {
            name: write(str(self.metadata[name]), of_value) if of_value else self.metadata[name]
            for name, of_value, of_name in zip(names, of_values, of_names, strict=True)
            if not of_name
        }


@dataclass(frozen=True, slots=True)
class ScreenedFields:
    """The fields as they may be kept, what was found in them, and the level that this raises them to."""

    fields: ShownFields
    dlp: Mapping[str, Any]
    level: Classification | None

    def applied(self, changes: DocumentChanges, wanted: ShownFields) -> DocumentChanges:
        """The changes with what may be kept of what is `wanted`, also where nobody asked for a change."""
        names = (TITLE, SOURCE_URI, METADATA)
        values = {name: getattr(self.fields, name) for name in names}
        cleaned = {name for name in names if values[name] != getattr(wanted, name)}
        return replace(
            changes,
            given=changes.given | cleaned,
            **values,
            source_uri_verified=changes.source_uri_verified and self.fields.source_uri is not None,
            dlp=self.dlp,
            level=self.level,
        )


class FieldScreen(Protocol):
    """Looks at the fields of a document before they are kept."""

    async def screen(
        self, session: AsyncSession, subject: Subject, fields: ShownFields, before: ShownFields | None = None
    ) -> ScreenedFields:
        """What may be kept of the fields. Raises what stands against them.

        `before` are those that are there already, where no text comes with these that could be held.
        """
        ...


async def screened_changes(
    screen: FieldScreen,
    session: AsyncSession,
    subject: Subject,
    before: ShownFields,
    changes: DocumentChanges,
    *,
    is_alone: bool,
) -> DocumentChanges:
    """The changes as they may be kept. Raises what stands against them.

    `is_alone` says that no text comes with them.
    """
    if not changes.given & {TITLE, SOURCE_URI, METADATA}:
        return changes
    after = before.changed(changes)
    screened = await screen.screen(session, subject, after, before if is_alone else None)
    return screened.applied(changes, after)


def _inside(parts: Sequence[Part], start: int, end: int) -> list[Part]:
    """What each of `parts` has of `[start, end)`, counted from there."""
    cut = [(max(first, start) - start, min(last, end) - start, what) for first, last, what in parts]
    return [part for part in cut if part[0] < part[1]]
