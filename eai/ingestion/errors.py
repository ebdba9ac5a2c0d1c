"""Why a document is not taken in."""

from eai.kernel.errors import Conflict, EaiError, InvalidInput


class ContentTypeNotAccepted(EaiError):
    """The content's type has no reader here; `accepted` names those that have."""

    code, status = "content_type_not_accepted", 415


class ContentTooLarge(EaiError):
    """The content is longer than `limit_bytes`."""

    code, status = "content_too_large", 413


class ContentEmpty(InvalidInput):
    """Nothing is left to read once the content is turned into text."""

    code = "content_empty"


class ContentUnreadable(InvalidInput):
    """The bytes are not what the content type says."""

    code = "content_unreadable"


class DuplicateContent(Conflict):
    """Another document that the caller may read has this text: `document_id`."""

    code = "duplicate_content"


class NothingToRetry(Conflict):
    """The newest text did not fail: its `status` is another."""

    code = "nothing_to_retry"
