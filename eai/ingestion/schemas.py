"""What a client submits."""

import unicodedata
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification
from eai.gateway.schemas import Labels
from eai.kernel.canonical import nfc
from eai.knowledge.bases.schemas import Reason
from eai.knowledge.documents.schemas import ChunkReaders, Metadata, ReaderList, Title

_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp"})


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


def _citable(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        is_address = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        is_address = False
    # A backslash ends the host for some readers and not for others.
    if not is_address or "\\" in uri or any(unicodedata.category(sign) in _INVISIBLE for sign in uri):
        raise PydanticCustomError("uri_not_citable", "Should be an address that anybody may be shown")
    return uri


Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=255),
    AfterValidator(_storable),
    AfterValidator(_printable),
]
"""What a source calls a document: an external id, or the name of a file."""
HttpsUri = Annotated[
    str,
    StringConstraints(max_length=2048, pattern=r"^https://[^\s\x00-\x1f]+$"),
    AfterValidator(_storable),
    AfterValidator(_citable),
]
"""Where a text is published; shown with its passages, so that it must not look like another address."""
ConnectorReference = Annotated[
    str, StringConstraints(min_length=1, max_length=100), AfterValidator(_storable)
]
"""The name, or the id, of a registered source connector."""

LanguageCode = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]
# The length first: of what another validator returned, it would be told as that of a list.
Content = Annotated[str, StringConstraints(min_length=1), AfterValidator(_storable)]


class DocumentFields(BaseModel):
    """Everything about a document but its content. `readers` null means every reader of the base.

    `source_connector` is the registered source that it comes from; null is `direct`.
    `chunk_readers` are stricter rights of parts of the text. Lowering the level of a document that is
    there already wants a `reason`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    external_id: Name | None = None
    source_uri: HttpsUri | None = None
    source_connector: ConnectorReference | None = None
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

    `metadata` is replaced whole. `external_id` and `source_connector` cannot be changed. A new text of a
    document that has `chunk_readers` wants new ones. Lowering a level wants a `reason`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title | None = None
    external_id: Name | None = None
    source_uri: HttpsUri | None = None
    source_connector: ConnectorReference | None = None
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
