"""Gives a document a text and fields without the person, and takes the former texts away once it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast
from uuid import UUID, uuid4, uuid5

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.access.subject import PrincipalKind, Subject
from eai.gateway.schemas import Labels
from eai.ingestion.repository import JOB_NAME, parameters_of
from eai.kernel.ids import ApiKeyId, DocumentId, GroupId, JobId, PrincipalId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.spans import spans_from_rows
from eai.knowledge.documents.drafts import DocumentChanges, VersionDraft
from eai.knowledge.documents.replacing import add_version, change_document
from eai.platform.jobs import Jobs
from eai.privacy.identifiers import Identifiers
from eai.privacy.repository import DocumentTexts, VersionText
from eai.quarantine.judgement import masked

PLAIN = "text/plain"
_ENDED_BADLY = frozenset({"failed", "rejected"})
_REDACTABLE = frozenset({"title", "source_uri", "metadata", "intended", "text"})


class NoText(Exception):
    """Nothing that can be read is stored of the document."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """A document that is to lose a person. The caller holds its row."""

    session: AsyncSession
    jobs: Jobs
    subject: Subject
    base: BaseHandle
    texts: DocumentTexts
    identifiers: Identifiers

    async def begin(self, erasure: UUID) -> bool:
        """Queue the text without the person; where only fields hold it they change now, and it is False.

        Raises NoText, and what stands against a replacement.
        """
        newest = self._newest()
        text = None if newest is None else _text_of(newest)
        if newest is None or text is None:
            raise NoText
        if not self._holds_text():
            await change_document(
                self.session, self.jobs, self.subject, self.base, self.texts.row, changes=self._changes()
            )
            return False
        source, job = self._masked(text).encode(), JobId(uuid4())
        draft = VersionDraft(
            id=redacted_version(erasure, DocumentId(self.texts.row.id)),
            content_type=PLAIN if newest.content is not None else newest.content_type,
            source_hash=sha256(source).digest(),
            source=source,
            # Every character stands where it stood.
            span_rights=tuple(spans_from_rows(cast(Any, newest.chunk_rights))),
            job=job,
        )
        document = DocumentId(self.texts.row.id)
        stored = await add_version(
            self.session, self.jobs, self.subject, self.base, document, draft, self._changes()
        )
        labels = Labels(**self.texts.row.labels).of(self.subject)
        parameters = parameters_of(self.subject, self.base, stored, language=newest.language, labels=labels)
        await self.jobs.create(
            self.session, self.base.tenant, job, JOB_NAME, parameters, principal=self.subject.principal
        )
        return True

    def _newest(self) -> VersionText | None:
        sound = [version for version in self.texts.versions if version.status not in _ENDED_BADLY]
        return sound[-1] if sound else None

    def _holds_text(self) -> bool:
        """Whether any text of any version holds the person: then all but a new one must go."""
        return any(
            self.identifiers.places(text)
            for version in self.texts.versions
            for text in (version.content, _decoded(version.source))
            if text
        )

    def _changes(self) -> DocumentChanges:
        row = self.texts.row
        redacted = {
            "title": self._masked(row.title),
            "source_uri": None if row.source_uri is None or self._holds(row.source_uri) else row.source_uri,
            "metadata": self._value(row.metadata_),
        }
        stored = {"title": row.title, "source_uri": row.source_uri, "metadata": row.metadata_}
        given = frozenset(name for name in stored if redacted[name] != stored[name])
        return DocumentChanges(given=given, **redacted)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._masked(str(name)): self._value(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._value(member) for member in value]
        if isinstance(value, str):
            return self._masked(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and self._holds(str(value)) else value

    def _holds(self, text: str) -> bool:
        return bool(self.identifiers.places(text))

    def _masked(self, text: str) -> str:
        return masked(text, tuple((place.start, place.end) for place in self.identifiers.places(text)))


def may_redact(fields: Sequence[str]) -> bool:
    """Whether everything that holds the person can be written anew: what a source calls its own cannot."""
    return _REDACTABLE.issuperset(fields)


def redacted_version(erasure: UUID, document: DocumentId) -> VersionId:
    """The id of the text that an erasure gives a document, whichever attempt does."""
    return VersionId(uuid5(erasure, str(document)))


def subject_of(tenant: TenantId, given: Mapping[str, Any]) -> Subject:
    """On whose behalf a redacted text is taken in; it opens nothing."""
    return Subject(
        tenant=tenant,
        principal=PrincipalId(UUID(given["principal"])),
        kind=PrincipalKind(given["kind"]),
        name="",
        roles=tuple(Role(role) for role in given["roles"]),
        groups=frozenset(GroupId(UUID(group)) for group in given["groups"]),
        scopes=frozenset(),
        clearance=Classification(given["clearance"]),
        api_key=ApiKeyId(UUID(given["api_key"])),
    )


def _text_of(version: VersionText) -> str | None:
    return version.content if version.content is not None else _decoded(version.source)


def _decoded(source: bytes | None) -> str | None:
    try:
        return None if source is None else source.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
