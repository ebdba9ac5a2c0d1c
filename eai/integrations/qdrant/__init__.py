"""The vector store: a Qdrant server, or the same engine embedded in a process of our own.

`server.py` is the port on a server. The embedded engine is a process (`engine.py`, which schedules the
calls of its clients on the shards of `edge.py`) and the port over its socket (`client.py`).
"""

from pathlib import Path

from eai.integrations.qdrant.client import EngineVectors
from eai.knowledge.ports import Vectors


def connect(url: str | None, api_key: str | None, socket: Path) -> Vectors:
    """The server when a URL is configured, otherwise the engine process that answers on `socket`.

    Opens nothing yet.
    """
    if url is None:
        return EngineVectors(socket)
    # Importing the server's client takes a second, which nobody without a server should wait for.
    from eai.integrations.qdrant.server import QdrantVectors  # noqa: PLC0415

    return QdrantVectors(url, api_key)
