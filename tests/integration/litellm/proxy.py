"""LiteLLM's own proxy as a process of its own, started from its package."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from eai.integrations.processes import tether
from tests.provider.process import ProviderProcess

_NEEDED = ("litellm", "apscheduler", "expression", "fastapi_sso", "mcp", "jwt", "redis", "semver")
MISSING = [name for name in _NEEDED if find_spec(name) is None]
MASTER_KEY = "sk-master-key-of-the-proxy"
UPSTREAM_KEY = "sk-key-that-only-the-proxy-has"
_STARTS_WITHIN_S = 100.0


@dataclass(frozen=True, slots=True)
class Proxy:
    """The running proxy. `url` is what an OpenAI client calls its base URL."""

    url: str


@asynccontextmanager
async def running_proxy(provider: ProviderProcess, home: Path) -> AsyncIterator[Proxy]:
    """Start it before `provider`; it is gone when the block ends."""
    port, log = await _free_port(), home / "proxy.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("litellm")),
            *("--config", _settings(home, provider), "--host", "127.0.0.1", "--port", str(port)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env=_environment(home),
            cwd=home,
            preexec_fn=tether(),
        )
    try:
        await _ready(process, port, log)
        yield Proxy(f"http://127.0.0.1:{port}/v1")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _settings(home: Path, provider: ProviderProcess) -> str:
    """Its settings; JSON is YAML too."""
    way = {"api_base": provider.url, "api_key": UPSTREAM_KEY}
    models = {"bge-m3": "openai/bge-m3", "chatting": "openai/chatting", "reranking": "hosted_vllm/reranking"}
    listed = [
        {"model_name": name, "litellm_params": {"model": model, **way}} for name, model in models.items()
    ]
    file = home / "proxy.yaml"
    file.write_text(
        json.dumps({
            "model_list": listed,
            "general_settings": {"master_key": MASTER_KEY},
            "litellm_settings": {"num_retries": 0},
            "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        })
    )  # fmt: skip
    return str(file)


def _environment(home: Path) -> dict[str, str]:
    # Its one module for sound bundles a library under the LGPL, which none of us wants for texts.
    stubs = home / "stubs"
    stubs.mkdir()
    (stubs / "soundfile.py").touch()
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "PYTHONPATH": str(stubs),
        "PYTHONWARNINGS": "ignore",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        # It takes 0 in its settings for "not said", and tries three times.
        "DEFAULT_MAX_RETRIES": "0",
    }


async def _ready(process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    async with asyncio.timeout(_STARTS_WITHIN_S):
        while not await _answers(port):
            assert process.returncode is None, log.read_text()[-2000:]
            await asyncio.sleep(0.2)


async def _answers(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.write(b"GET /health/liveliness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await reader.readline()
    writer.close()
    return b" 200 " in answer


async def _free_port() -> int:
    server = await asyncio.start_server(lambda _, __: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    return port
