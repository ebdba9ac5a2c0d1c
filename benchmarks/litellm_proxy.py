"""LiteLLM's own proxy as a process of its own, started from the package in our environment.

Nobody else knows how it starts: it is measured beside the gateway, and tests speak to it through the gateway.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.product import free_port
from eai.integrations.processes import tether

MASTER_KEY = "sk-master-key-of-the-proxy"
MISSING = [
    name
    for name in ("litellm", "apscheduler", "expression", "fastapi_sso", "mcp", "jwt", "redis", "semver")
    if find_spec(name) is None
]
"""What it cannot start without and is not installed."""

_STARTS_WITHIN_S = 240.0
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Proxy:
    """The running proxy, which `MASTER_KEY` opens."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """What an OpenAI client calls its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"


@asynccontextmanager
async def running_proxy(home: Path, settings: Mapping[str, Any]) -> AsyncIterator[Proxy]:
    """One worker and no database, gone when the block ends. `settings` are the proxy's own."""
    port = free_port()
    log = home / f"litellm-{port}.log"
    arguments = ("--config", _written(home, port, settings), "--host", "127.0.0.1", "--port", str(port))
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(Path(sys.executable).with_name("litellm"), *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_environment(home),
            cwd=home,
            preexec_fn=tether(),
        )
    try:
        await _ready(process, port, log)
        yield Proxy(port, process.pid)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _written(home: Path, port: int, settings: Mapping[str, Any]) -> Path:
    """The file of its settings; JSON is YAML too."""
    file = home / f"litellm-{port}.yaml"
    file.write_text(json.dumps(settings))
    return file


def _environment(home: Path) -> dict[str, str]:
    # Its one module for sound bundles a library under the LGPL, which none of us wants for texts.
    stubs = home / "stubs"
    stubs.mkdir(exist_ok=True)
    (stubs / "soundfile.py").touch()
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(stubs),
        "PYTHONWARNINGS": "ignore",
        "LITELLM_MASTER_KEY": MASTER_KEY,
        # As its own pages advise for production, and no table of prices from the network.
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_LOG": "ERROR",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        # It takes 0 in its settings for "not said", and tries three times.
        "DEFAULT_MAX_RETRIES": "0",
    }


async def _ready(process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    url = f"http://127.0.0.1:{port}/health/liveliness"
    async with asyncio.timeout(_STARTS_WITHIN_S), httpx2.AsyncClient(trust_env=False) as client:
        while not await _answers(client, url):
            if process.returncode is not None:
                raise RuntimeError(f"LiteLLM's proxy ended: {log.read_text(errors='replace')[-2000:]}")
            await asyncio.sleep(_POLL_S)


async def _answers(client: httpx2.AsyncClient, url: str) -> bool:
    with suppress(httpx2.TransportError):
        return (await client.get(url)).is_success
    return False
