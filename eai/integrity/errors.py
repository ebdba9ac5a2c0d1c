"""What an examination tells users."""

from eai.kernel.errors import Unavailable


class ProcessingInterrupted(Unavailable):
    """The document's processing was lost, as in a restore from a backup; nothing of it was kept."""

    code = "processing_interrupted"
