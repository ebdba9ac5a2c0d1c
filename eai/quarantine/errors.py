"""Why a text is not even held."""

from eai.kernel.errors import Conflict, EaiError


class ExaminationFailed(EaiError):
    """Nobody can say what is in the text: a detector failed, or took too long. Then nothing passes.

    A worker does not wait for it, as it does for a part that is down: the text may be what breaks a detector.
    """

    code, status, retryable = "examination_failed", 503, True


class ReviewRequired(Conflict):
    """What is shown with a document holds what a data steward must see first, and no text comes with it."""

    code = "review_required"


class ContentRejected(Conflict):
    """A data steward has rejected this very content for this base."""

    code = "content_rejected"
