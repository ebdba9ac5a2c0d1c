"""LiteLLM as a library, held back: no callbacks, no fallbacks, no tries of its own, no clients of its own.

Nothing is imported before it is first needed: the library takes seconds and thousands of modules.
"""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import httpx

from eai.integrations.litellm.transport import Exchange, Strayed

T = TypeVar("T")

_current: contextvars.ContextVar[Exchange] = contextvars.ContextVar("litellm_exchange")
_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")
_LISTS = (
    "callbacks", "input_callback", "success_callback", "failure_callback", "service_callback",
    "_async_success_callback", "_async_failure_callback", "_async_input_callback",
)  # fmt: skip
_OFF: dict[str, Any] = {
    "telemetry": False,
    "suppress_debug_info": True,
    "set_verbose": False,
    "drop_params": False,
    "modify_params": False,
    "num_retries": 0,
    "DEFAULT_MAX_RETRIES": 0,
    "model_fallbacks": None,
    "default_fallbacks": None,
    "context_window_fallbacks": None,
    "cache": None,
    "api_base": None,
    "api_key": None,
    "headers": None,
    "organization": None,
    "proxy_auth": None,
    "disable_aiohttp_transport": True,
    "turn_off_message_logging": True,
}


class _Current(httpx.AsyncBaseTransport):
    """Whatever the library's own clients send goes through the exchange of the call they are part of."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = _current.get(None)
        if exchange is None:
            raise Strayed
        return await exchange.handle_async_request(request)


class _Closed(httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        del request
        raise Strayed


class Library:
    """One per process."""

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._module: Any = None
        self._http = httpx.AsyncClient(transport=_Current(), follow_redirects=False, trust_env=False)

    @staticmethod
    def is_available() -> bool:
        """Whether the extra `litellm` is installed; imports nothing."""
        return find_spec("litellm") is not None

    async def loaded(self) -> Any:
        """The module `litellm`; imported in a thread, once."""
        return self._module or await asyncio.to_thread(self._load)

    async def run(self, exchange: Exchange, call: Callable[[], Awaitable[T]]) -> T:
        """The result of `call`, of which the library keeps no record and which sends by `exchange` only."""
        from litellm._internal_context import is_internal_call  # noqa: PLC0415 an extra

        context = contextvars.copy_context()
        context.run(_current.set, exchange)
        context.run(is_internal_call.set, True)

        async def called() -> T:
            return await call()

        return await asyncio.create_task(called(), context=context)

    def client(self) -> Any:
        """What the library takes for its own client, over the exchange of the call."""
        return self._module.module_level_aclient

    def openai_client(self, url: str, key: str) -> Any:
        """What the library takes for the client of a provider in OpenAI's form."""
        import openai  # noqa: PLC0415 comes with the library, and takes a while to import

        # The client takes both generations of its HTTP library, and declares only the newer one.
        http: Any = self._http
        return openai.AsyncOpenAI(
            api_key=key, base_url=url, organization="", project="", max_retries=0, http_client=http
        )

    def _load(self) -> Any:
        with self._loading:
            if self._module is None:
                module = import_module("litellm")
                _hold_back(module)
                self._module = module
            return self._module


def _hold_back(module: Any) -> None:
    for name in _LOGGERS:
        # Its messages quote requests, and what providers say of them.
        logging.getLogger(name).disabled = True
    for name in _LISTS:
        setattr(module, name, [])
    for name, value in _OFF.items():
        setattr(module, name, value)
    handler = import_module("litellm.llms.custom_httpx.http_handler").AsyncHTTPHandler
    handler.create_client = _client
    module.sync_transport = _Closed()
    module.client_session = httpx.Client(transport=_Closed())
    module.aclient_session = httpx.AsyncClient(transport=_Current())
    module.module_level_aclient = handler()


def _client(self: object, *_: object, **__: object) -> httpx.AsyncClient:
    """In place of the library's own: the same for every provider, and blind to the environment."""
    del self
    return httpx.AsyncClient(transport=_Current(), follow_redirects=False, trust_env=False)
