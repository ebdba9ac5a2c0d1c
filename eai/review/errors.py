"""Why a steward may not decide."""

from eai.kernel.errors import Conflict, Forbidden


class NotHeld(Conflict):
    """Somebody has decided already: `status` is what the version has come to, `replaced` by a newer text."""

    code = "not_held"


class SelfReviewForbidden(Forbidden):
    """Who brought a document or its text, or ever held a secret of who did, does not decide about it."""

    code = "self_review_forbidden"


class TooManyFindings(Conflict):
    """As much stands against the text as is kept of one: more may, which a decision would let pass unseen."""

    code = "too_many_findings"


class RedactionLeavesNothing(Conflict):
    """The parts that held the text are all that can be read of it."""

    code = "redaction_leaves_nothing"
