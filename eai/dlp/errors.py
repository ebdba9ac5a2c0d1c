"""Why a text was not judged, or goes nowhere."""

from eai.kernel.errors import Forbidden, Unavailable


class DlpUnavailable(Unavailable):
    """The texts could not be searched, so nothing of them may be sent or stored."""

    code = "dlp_unavailable"


class DlpBlocked(Forbidden):
    """The text holds what the tenant's rules keep out: of models, of documents, of answers."""

    code = "dlp_blocked"
