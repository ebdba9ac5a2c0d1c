"""LiteLLM: its proxy over HTTP, or the library inside the process, behind the gateway's own way out."""

from eai.gateway.ports import Provider
from eai.integrations.litellm.choice import LiteLLM
from eai.integrations.litellm.provider import InProcessLiteLLM
from eai.platform.outbound import Outbound

__all__ = ["InProcessLiteLLM", "LiteLLM", "connect"]


def connect(outbound: Outbound, proxy: Provider) -> LiteLLM:
    """What speaks to endpoints of this kind; `proxy` speaks OpenAI's language."""
    return LiteLLM(proxy, InProcessLiteLLM(outbound) if InProcessLiteLLM.is_available() else None)
