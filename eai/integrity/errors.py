"""What an examination tells users."""

from eai.kernel.errors import Conflict, Unavailable


class ProcessingInterrupted(Unavailable):
    """The document's processing was lost, as in a restore from a backup; nothing of it was kept."""

    code = "processing_interrupted"


class VectorStoreNotOurs(Conflict):
    """The vector store may hold the points of another database: nothing in it is mended or removed."""

    code = "vector_store_not_ours"
