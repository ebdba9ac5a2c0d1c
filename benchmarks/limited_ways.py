"""A limit on a model as our gateway enforces it, and as LiteLLM's own proxy does: two processes of either."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.litellm_proxy import MASTER_KEY, running_proxy
from benchmarks.loopback_provider import MODEL, Loopback, registered, running_loopback
from benchmarks.product import free_port, put, running_api, running_product

CALLS, TOKENS = "calls", "tokens"
_PRICE = 1e-6
"""Of a token, where a limit is one of money."""

Settings = Mapping[str, Any]
Limits = Mapping[str, int]
"""Of calls and of tokens."""


@dataclass(frozen=True)
class Way:
    """One limit, before one provider. `counted` is what it limits."""

    name: str
    counted: str
    limit: int
    ports: tuple[int, int]
    path: str
    model: str
    key: str
    provider: Loopback
    is_by_minute: bool = False

    async def taken(self) -> int:
        """What has reached the provider until now."""
        taken = await self.provider.taken()
        return taken.calls if self.counted == CALLS else taken.tokens


async def ours(home: Path, limits: Limits, wait_ms: float) -> AsyncIterator[Way]:
    """Two processes of `eai serve` on one database, with one quota of the tenant at a time."""
    async with AsyncExitStack() as stack:
        product = await stack.enter_async_context(running_product(home))
        _, other, _ = await stack.enter_async_context(running_api(home, product.environ))
        provider = await stack.enter_async_context(running_loopback(home, wait_ms=wait_ms))
        admin = await stack.enter_async_context(product.client(product.admin_key))
        await registered(product, MODEL, provider)
        to_us = ((product.port, other), "/v1/gateway/embeddings", MODEL, product.admin_key, provider)
        for counted, metric in ((CALLS, "requests"), (TOKENS, "tokens")):
            body = {"owner": "tenant", "metric": metric, "window": "month", "limit": limits[counted]}
            quota = await put(admin, "/v1/finops/quotas", body)
            yield Way(f"gateway, `{metric}`", counted, limits[counted], *to_us)
            (await admin.delete(f"/v1/finops/quotas/{quota['id']}")).raise_for_status()


async def litellms(home: Path, limits: Limits, wait_ms: float, redis: Path | None) -> AsyncIterator[Way]:
    """Two proxies with the same settings, which have a model for each limit."""
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(running_loopback(home, wait_ms=wait_ms))
        shared = {} if redis is None else await stack.enter_async_context(_running_redis(redis, home))
        models = _models(limits)
        settings = _settings(provider, models, shared)
        first, other = await asyncio.gather(
            *(stack.enter_async_context(running_proxy(home, settings)) for _ in range(2))
        )
        beside = ", Redis" if shared else ""
        for model, (counted, _) in models.items():
            to_them = ((first.port, other.port), "/v1/embeddings", model, MASTER_KEY, provider)
            is_by_minute = model == "itpm"
            yield Way(f"LiteLLM, `{model}`{beside}", counted, limits[counted], *to_them, is_by_minute)


def _models(limits: Limits) -> dict[str, tuple[str, Settings]]:
    """By the name of its limit: what that counts, and what the settings say of it."""
    money = {"max_budget": limits[TOKENS] * _PRICE, "budget_duration": "1d", "input_cost_per_token": _PRICE}
    return {
        "rpd": (CALLS, {"rpd": limits[CALLS]}),
        "tpd": (TOKENS, {"tpd": limits[TOKENS]}),
        "itpm": (TOKENS, {"itpm": limits[TOKENS]}),
        "max_budget": (TOKENS, money),
    }


def _settings(provider: Loopback, models: Mapping[str, tuple[str, Settings]], shared: Settings) -> Settings:
    way = {"model": f"openai/{MODEL}", "api_base": provider.url, "api_key": "none"}
    return {
        "model_list": [
            {"model_name": name, "litellm_params": {**way, **limit}, "model_info": {"id": name}}
            for name, (_, limit) in models.items()
        ],
        "litellm_settings": {"num_retries": 0},
        "router_settings": {
            "num_retries": 0,
            "disable_cooldowns": True,
            "optional_pre_call_checks": ["enforce_model_rate_limits", "router_budget_limiting"],
            **shared,
        },
    }


@asynccontextmanager
async def _running_redis(command: Path, home: Path) -> AsyncIterator[Settings]:
    """The router's settings that lead to it."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(command, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", home),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        yield {"redis_host": "127.0.0.1", "redis_port": port}
    finally:
        process.terminate()
        await process.wait()
