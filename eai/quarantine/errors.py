"""Why a text is not even held."""

from eai.kernel.errors import Conflict, Unavailable


class ExaminationFailed(Unavailable):
    """Nobody can say what is in the text: a detector failed, or took too long. Then nothing passes."""

    code = "examination_failed"


class ContentRejected(Conflict):
    """A data steward has rejected this very content for this base."""

    code = "content_rejected"
