"""Two things go by LiteLLM's name: a proxy somewhere, and the library in here."""

from collections.abc import AsyncIterator, Mapping, Sequence

from eai.gateway.errors import ModelDisabled
from eai.gateway.ports import (
    ChatMessage,
    EmbeddingRole,
    Provider,
    ProviderCompletion,
    ProviderDelta,
    ProviderEmbeddings,
    ProviderRanking,
    Target,
)
from eai.gateway.templates import TEMPLATES

Options = Mapping[str, float | int]


class LiteLLM:
    """An endpoint is a proxy, which speaks OpenAI's language; one from a template is the library's.

    Where the library may not speak to the template's provider, a proxy does.
    """

    def __init__(self, proxy: Provider, library: Provider | None) -> None:
        """`library` is None where its extra is not installed."""
        self._proxy = proxy
        self._library = library

    async def embed(
        self, target: Target, texts: Sequence[str], role: EmbeddingRole, dimensions: int | None
    ) -> ProviderEmbeddings:
        """See `gateway.ports.Provider`."""
        return await self._way(target).embed(target, texts, role, dimensions)

    async def rerank(self, target: Target, query: str, documents: Sequence[str]) -> ProviderRanking:
        """See `gateway.ports.Provider`."""
        return await self._way(target).rerank(target, query, documents)

    async def chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Options
    ) -> ProviderCompletion:
        """See `gateway.ports.Provider`."""
        return await self._way(target).chat(target, messages, options)

    def stream_chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Options
    ) -> AsyncIterator[ProviderDelta]:
        """See `gateway.ports.Provider`."""
        return self._way(target).stream_chat(target, messages, options)

    def _way(self, target: Target) -> Provider:
        if target.endpoint.template is None:
            return self._proxy
        template = TEMPLATES.get(target.endpoint.template)
        if template is not None and template.is_behind_proxy:
            return self._proxy
        if template is None or self._library is None:
            raise ModelDisabled(model=target.model.name)
        return self._library
