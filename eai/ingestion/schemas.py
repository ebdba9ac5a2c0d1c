"""What a client submits."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from eai.access.classification import Classification
from eai.gateway.schemas import Labels
from eai.kernel.canonical import nfc
from eai.knowledge.bases.schemas import Reason
from eai.knowledge.documents.schemas import ChunkReaders, Metadata, ReaderList, Title


def _printable(text: str) -> str:
    if any(character < " " or character == "\x7f" for character in text):
        raise ValueError("must not hold control characters")
    return nfc(text)


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold NUL characters")
    try:
        text.encode()  # looking at each character would take 2 ms for a page
    except UnicodeEncodeError as error:
        raise ValueError("must not hold lone surrogates") from error
    return text


Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=255),
    AfterValidator(_storable),
    AfterValidator(_printable),
]
"""What a source calls a document: an external id, or the name of a file."""
HttpsUri = Annotated[str, StringConstraints(max_length=2048, pattern=r"^https://[^\s\x00-\x1f]+$")]

LanguageCode = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]
# The length first: of what another validator returned, it would be told as that of a list.
Content = Annotated[str, StringConstraints(min_length=1), AfterValidator(_storable)]


class DocumentFields(BaseModel):
    """Everything about a document but its content. `readers` null means every reader of the base.

    `chunk_readers` are stricter rights of parts of the text. Lowering the level of a document that is
    there already wants a `reason`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    external_id: Name | None = None
    source_uri: HttpsUri | None = None
    classification: Classification | None = None
    readers: ReaderList | None = None
    language: LanguageCode | None = None
    chunk_readers: ChunkReaders | None = None
    metadata: Metadata = {}
    labels: Labels = Labels()
    reason: Reason | None = None


class DocumentSubmission(DocumentFields):
    """A document given as text."""

    content: Content
    content_type: str = "text/plain"


class ReplacementFields(BaseModel):
    """What to change of a document besides its text; what is not named keeps its value.

    `metadata` is replaced whole. `external_id` cannot be changed. A new text of a document that has
    `chunk_readers` wants new ones. Lowering a level wants a `reason`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title | None = None
    external_id: Name | None = None
    source_uri: HttpsUri | None = None
    classification: Classification | None = None
    readers: ReaderList | None = None
    language: LanguageCode | None = None
    chunk_readers: ChunkReaders | None = None
    metadata: Metadata | None = None
    labels: Labels | None = None
    reason: Reason | None = None


class DocumentReplacement(ReplacementFields):
    """A document's new text, if there is one, and what else is to change."""

    content: Content | None = None
    content_type: str | None = None
