"""Embedding models that run inside the process: nothing leaves it."""

from eai.integrations.local_models.e5 import E5Embedder
from eai.integrations.local_models.hashing import HashEmbedder
from eai.integrations.local_models.sentences import SentenceEmbedder

__all__ = ["E5Embedder", "HashEmbedder", "SentenceEmbedder"]
