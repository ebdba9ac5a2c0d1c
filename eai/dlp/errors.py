"""Why a text was not judged."""

from eai.kernel.errors import Unavailable


class DlpUnavailable(Unavailable):
    """The texts could not be searched, so nothing of them may be sent or stored."""

    code = "dlp_unavailable"
