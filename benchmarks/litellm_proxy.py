"""LiteLLM's own proxy, started from its package, to be measured beside the gateway."""

import asyncio
import json
import os
import secrets
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.loopback_provider import MODEL
from benchmarks.product import free_port, until_answered
from benchmarks.rounds import note
from eai.integrations.processes import tether

_READY_S = 240.0
"""It imports for a while."""


@dataclass(frozen=True)
class Proxy:
    """The running proxy. `version` is its package's."""

    port: int
    pid: int
    key: str
    version: str


@asynccontextmanager
async def running_litellm(command: Path, home: Path, provider: str) -> AsyncIterator[Proxy | None]:
    """One worker with a master key and no database, or None with a note where it is not installed."""
    if not command.exists():
        note(f"LiteLLM's proxy is not measured: there is no {command}")
        yield None
        return
    port, key, log = free_port(), f"sk-{secrets.token_hex(32)}", home / "litellm.log"
    arguments = ("--config", _config(home, provider), "--host", "127.0.0.1", "--port", str(port))
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(command, *arguments, "--num_workers", "1"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_variables(home, key),
            cwd=home,
            preexec_fn=tether(),
        )
    try:
        if await _is_ready(process, port):
            yield Proxy(port, process.pid, key, _version(command))
        else:
            said = log.read_text(errors="replace").strip().splitlines()
            note(f"LiteLLM's proxy is not measured: {said[-1] if said else 'it ended'}")
            yield None
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _config(home: Path, provider: str) -> Path:
    """Its settings; JSON is YAML too."""
    file = home / "litellm.yaml"
    way = {"model": f"openai/{MODEL}", "api_base": provider, "api_key": "none"}
    file.write_text(json.dumps({"model_list": [{"model_name": MODEL, "litellm_params": way}]}))
    return file


def _variables(home: Path, key: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LITELLM_MASTER_KEY": key,
        # As its own pages advise for production, and no table of prices from the network.
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_LOG": "ERROR",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


async def _is_ready(process: asyncio.subprocess.Process, port: int) -> bool:
    url = f"http://127.0.0.1:{port}/health/liveliness"
    ready = asyncio.create_task(until_answered(url, _READY_S))
    ended = asyncio.create_task(process.wait())
    await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
    for task in (ready, ended):
        task.cancel()
    return process.returncode is None and not ready.cancelled() and ready.exception() is None


def _version(command: Path) -> str:
    question = "import importlib.metadata as m; print(m.version('litellm'))"
    answer = subprocess.run(
        [command.with_name("python"), "-c", question], check=True, capture_output=True, text=True
    )
    return answer.stdout.strip()
