"""LiteLLM inside the process, behind the gateway's own way out."""

from eai.integrations.litellm.provider import InProcessLiteLLM

__all__ = ["InProcessLiteLLM"]
