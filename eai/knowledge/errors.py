"""What can go wrong with bases and documents. Names taken, lock-outs and clearance are identity's errors."""

from eai.kernel.errors import Conflict, Forbidden, InvalidInput


class ExternalIdExists(Conflict):
    """A live document of the same source already goes by this external id: `document_id`."""

    code = "external_id_exists"


class VersionSuperseded(Conflict):
    """A newer text of the document came before this one could answer."""

    code = "version_superseded"


class DocumentNotReady(Conflict):
    """No version of the document answers yet."""

    code = "document_not_ready"


class UnderLegalHold(Conflict):
    """A legal hold keeps what was to be removed or written over."""

    code = "under_legal_hold"


class ChunkReadersRequired(InvalidInput):
    """Parts of the present text have rights of their own; the new text must say which of its parts have."""

    code = "chunk_readers_required"


class PermissionMissing(Forbidden):
    """The base is visible to the caller, but does not grant `permission`."""

    code = "permission_missing"


class ClassificationExceeded(Forbidden):
    """The level lies above the `ceiling` of the model that would see the text."""

    code = "classification_exceeded"
