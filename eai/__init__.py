"""The governed RAG platform: decide, prove and record who may see what, and which model may see it."""

__version__ = "0.1.0"
