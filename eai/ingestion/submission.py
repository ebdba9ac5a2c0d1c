"""What comes in, and what it became."""

from dataclasses import dataclass
from uuid import UUID, uuid5

from eai.ingestion.repository import Work
from eai.ingestion.schemas import DocumentFields, ReplacementFields
from eai.kernel.ids import DocumentId, JobId, VersionId
from eai.platform.jobs import JobRun

_VERSIONS = UUID("0e7a0c53-5d5c-5b5e-9a34-0c4c3f3a7d10")


@dataclass(frozen=True, slots=True)
class Text:
    """A text as it was sent. `content_type` None was left out; of a file it may be empty."""

    source: bytes
    content_type: str | None
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A document as it came in: `id` is the one it will have.

    `given` names the fields that the caller wrote. `is_repeated` says that an attempt under the same id
    may have come before.
    """

    id: DocumentId
    fields: DocumentFields
    text: Text
    given: frozenset[str]
    is_repeated: bool = False

    @property
    def external_id(self) -> str | None:
        """What the source calls the document."""
        return self.fields.external_id or self.text.filename

    @property
    def version(self) -> VersionId:
        """The id of the version that it makes, of whichever document."""
        return version_of(self.id)

    def as_revision(self) -> "Revision":
        """The same, of a document that is there already."""
        return Revision(self.id, self.fields, self.text, self.given - {"external_id", "source_connector"})


@dataclass(frozen=True, slots=True)
class Revision:
    """What is to become of a document: another text, unless it keeps its own, and the fields in `given`.

    `id` is that of the request. `is_repeated` says that an attempt under it may have come before.
    """

    id: UUID
    fields: DocumentFields | ReplacementFields
    text: Text | None
    given: frozenset[str]
    is_repeated: bool = False

    @property
    def version(self) -> VersionId:
        """The id of the version that it makes, if it makes one."""
        return version_of(self.id)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a submission became. Without `run` there is nothing left to do for the caller now."""

    document: DocumentId
    is_new: bool
    job: JobId | None = None
    run: JobRun | None = None
    work: Work | None = None


def version_of(request: UUID) -> VersionId:
    """The id of the version that a request makes."""
    return VersionId(uuid5(_VERSIONS, str(request)))
