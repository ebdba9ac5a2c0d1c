"""Takes an admitted call to its provider and back: the key is opened for one attempt and forgotten after it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from eai.gateway.attempts import Attempts
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
from eai.gateway.registry import Endpoint, EndpointKind, Model
from eai.platform.keys import Keyring

Before = Callable[[], Awaitable[None]]


def key_context(endpoint: Endpoint) -> str:
    """What a sealed provider key is bound to, so that it opens for its own endpoint only."""
    return f"provider:{endpoint.id}"


class Dispatch:
    """One per process. `before` is awaited ahead of each attempt and may stop it by raising."""

    def __init__(
        self, providers: Mapping[EndpointKind, Provider], attempts: Attempts, keyring: Keyring
    ) -> None:
        self._providers = providers
        self._attempts = attempts
        self._keyring = keyring

    async def embed(
        self, model: Model, texts: Sequence[str], role: EmbeddingRole, dimensions: int | None, before: Before
    ) -> ProviderEmbeddings:
        """Raises ProviderUnavailable, ProviderResponseInvalid and what `before` raises."""
        provider, endpoint = self._way(model)

        async def attempt(deadline_s: float) -> ProviderEmbeddings:
            return await provider.embed(self._target(model, endpoint, deadline_s), texts, role, dimensions)

        return await self._attempts.run(endpoint.name, attempt, before)

    async def rerank(
        self, model: Model, query: str, documents: Sequence[str], before: Before
    ) -> ProviderRanking:
        """As `embed`."""
        provider, endpoint = self._way(model)

        async def attempt(deadline_s: float) -> ProviderRanking:
            return await provider.rerank(self._target(model, endpoint, deadline_s), query, documents)

        return await self._attempts.run(endpoint.name, attempt, before)

    async def chat(
        self,
        model: Model,
        messages: Sequence[ChatMessage],
        options: Mapping[str, float | int],
        before: Before,
    ) -> ProviderCompletion:
        """As `embed`."""
        provider, endpoint = self._way(model)

        async def attempt(deadline_s: float) -> ProviderCompletion:
            return await provider.chat(self._target(model, endpoint, deadline_s), messages, options)

        return await self._attempts.run(endpoint.name, attempt, before)

    def stream_chat(
        self,
        model: Model,
        messages: Sequence[ChatMessage],
        options: Mapping[str, float | int],
        before: Before,
    ) -> AsyncIterator[ProviderDelta]:
        """As `embed`, in pieces; there is no further attempt once the first piece has arrived."""
        provider, endpoint = self._way(model)

        def attempt(deadline_s: float) -> AsyncIterator[ProviderDelta]:
            return provider.stream_chat(self._target(model, endpoint, deadline_s), messages, options)

        return self._attempts.stream(endpoint.name, attempt, before)

    def _way(self, model: Model) -> tuple[Provider, Endpoint]:
        assert model.endpoint is not None
        return self._providers[model.endpoint.kind], model.endpoint

    def _target(self, model: Model, endpoint: Endpoint, deadline_s: float) -> Target:
        sealed = endpoint.sealed_key
        key = None if sealed is None else self._keyring.unwrap(sealed, key_context(endpoint)).decode()
        return Target(model, endpoint, key, deadline_s)
