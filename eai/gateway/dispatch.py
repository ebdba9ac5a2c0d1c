"""Takes an admitted call to its provider and back; a key is opened for one attempt and forgotten after it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from eai.gateway.attempts import Attempts
from eai.gateway.failures import ProviderFailure
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
from eai.gateway.provider_keys import ProviderKeys
from eai.gateway.registry import Endpoint, EndpointKind, Model
from eai.kernel.ids import TenantId
from eai.platform.keys import SealBroken

_log = structlog.get_logger(__name__)

Before = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Way:
    """On whose way a call is. `before` is awaited ahead of each attempt and may stop it by raising."""

    tenant: TenantId
    before: Before


class Dispatch:
    """One per process."""

    def __init__(
        self, providers: Mapping[EndpointKind, Provider], attempts: Attempts, keys: ProviderKeys
    ) -> None:
        self._providers = providers
        self._attempts = attempts
        self._keys = keys

    async def embed(
        self,
        model: Model,
        texts: Sequence[str],
        role: EmbeddingRole,
        dimensions: int | None,
        way: Way,
    ) -> ProviderEmbeddings:
        """One vector per text.

        Raises ProviderRefused, ProviderUnavailable, ProviderResponseInvalid and what `way.before` raises.
        """
        provider, endpoint = self._endpoint(model)

        async def attempt(deadline_s: float) -> ProviderEmbeddings:
            return await provider.embed(self._target(model, endpoint, deadline_s), texts, role, dimensions)

        return await self._attempts.run(endpoint.name, attempt, way.before, tenant=way.tenant)

    async def rerank(self, model: Model, query: str, documents: Sequence[str], way: Way) -> ProviderRanking:
        """As `embed`."""
        provider, endpoint = self._endpoint(model)

        async def attempt(deadline_s: float) -> ProviderRanking:
            return await provider.rerank(self._target(model, endpoint, deadline_s), query, documents)

        return await self._attempts.run(endpoint.name, attempt, way.before, tenant=way.tenant)

    async def chat(
        self,
        model: Model,
        messages: Sequence[ChatMessage],
        options: Mapping[str, float | int],
        way: Way,
    ) -> ProviderCompletion:
        """As `embed`."""
        provider, endpoint = self._endpoint(model)

        async def attempt(deadline_s: float) -> ProviderCompletion:
            return await provider.chat(self._target(model, endpoint, deadline_s), messages, options)

        return await self._attempts.run(endpoint.name, attempt, way.before, tenant=way.tenant)

    def stream_chat(
        self,
        model: Model,
        messages: Sequence[ChatMessage],
        options: Mapping[str, float | int],
        way: Way,
    ) -> AsyncGenerator[ProviderDelta, None]:
        """As `embed`, in pieces; there is no further attempt once the first piece has arrived."""
        provider, endpoint = self._endpoint(model)

        def attempt(deadline_s: float) -> AsyncIterator[ProviderDelta]:
            return provider.stream_chat(self._target(model, endpoint, deadline_s), messages, options)

        return self._attempts.stream(endpoint.name, attempt, way.before, tenant=way.tenant)

    def _endpoint(self, model: Model) -> tuple[Provider, Endpoint]:
        assert model.endpoint is not None
        return self._providers[model.endpoint.kind], model.endpoint

    def _target(self, model: Model, endpoint: Endpoint, deadline_s: float) -> Target:
        try:
            key = self._keys.open(endpoint.id, endpoint.sealed_key)
        except SealBroken:
            # Sealed under another master key, or altered: nothing is sent until an operator sets it anew.
            _log.error("provider_key.broken", endpoint=endpoint.name)
            raise ProviderFailure(is_retryable=False, was_sent=False, reason="key_broken") from None
        return Target(model, endpoint, key, deadline_s)
