"""The whole product as it runs: database, engine, one API process, and the keys of its first start."""

import asyncio
import base64
import json
import os
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.stage import Postgres, running_engine, running_postgres
from eai.integrations.processes import tether
from eai.platform.settings import Settings, load_settings
from eai.platform.settings.tree import Environment

Json = dict[str, Any]
_READY_S = 60.0


@dataclass(frozen=True)
class Product:
    """What is running, and how to reach it. `admin_key` opens tenant `default`."""

    home: Path
    postgres: Postgres
    engine_pid: int
    environ: Mapping[str, str]
    admin_key: str
    operator_key: str
    api_pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> Settings:
        return load_settings(self.environ, default_environment=Environment.TEST)

    def client(self, key: str) -> httpx2.AsyncClient:
        """A client with this key."""
        headers = {"authorization": f"Bearer {key}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, trust_env=False, timeout=60)


@asynccontextmanager
async def running_product(home: Path, *, model: str = "local-hash-256") -> AsyncIterator[Product]:
    """Everything that answers a request. Whoever measures what waits for a worker starts one beside it."""
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(running_postgres(home))
        settings = load_settings(environ(home, postgres, model), default_environment=Environment.TEST)
        engine = running_engine(settings.engine_folder, settings.engine_socket)
        engine_pid = await stack.enter_async_context(engine)
        variables = environ(home, postgres, model)
        keys = json.loads(await _output(variables, "-m", "eai.cli", "keys", "create", "--json"))
        pid, port, _ = await stack.enter_async_context(running_api(home, variables))
        yield Product(home, postgres, engine_pid, variables, keys["api_key"], keys["platform_key"], pid, port)


def environ(home: Path, postgres: Postgres, model: str) -> dict[str, str]:
    """The variables of every process of this product."""
    kept = home / "master-key"
    if not kept.exists():
        kept.write_text(base64.b64encode(secrets.token_bytes(32)).decode())
    return {
        "PATH": os.environ["PATH"],
        "EAI_ENV": "test",
        "EAI_HOME": str(home),
        "EAI_DATABASE_URL": postgres.app_url,
        "EAI_MASTER_KEY": kept.read_text(),
        "EAI_AUDIT_ANCHOR_PATH": str(home / "anchor.jsonl"),
        "EAI_RAG_EMBEDDING_MODEL": model,
        "EAI_EGRESS_ALLOW": "127.0.0.1",
        # Questions are asked over and over here, to measure what it takes to answer them.
        "EAI_CACHE_MEMORY_MB": "0",
    }


@asynccontextmanager
async def running_api(home: Path, variables: Mapping[str, str]) -> AsyncIterator[tuple[int, int, float]]:
    """`eai serve`: its process id, its port, and the seconds it took until it was ready."""
    port = free_port()
    arguments = ("-m", "eai.cli", "serve", "--port", str(port))
    async with running_python(home / "api.log", variables, *arguments) as (pid, started):
        yield pid, port, await until_answered(f"http://127.0.0.1:{port}/readyz") - started


@asynccontextmanager
async def running_worker(product: Product) -> AsyncIterator[int]:
    """A worker of this product: its process id. It takes a moment until it works."""
    arguments = ("-m", "workers.all")
    async with running_python(product.home / "worker.log", product.environ, *arguments) as (pid, _):
        yield pid


@asynccontextmanager
async def running_python(
    log: Path, variables: Mapping[str, str], *arguments: str
) -> AsyncIterator[tuple[int, float]]:
    """A Python process that writes to `log`: its id, and when it was started."""
    with log.open("ab") as output:
        started = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(variables),
            preexec_fn=tether(),
        )
    try:
        yield process.pid, started
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def until_answered(url: str, within_s: float = _READY_S) -> float:
    """When `url` first answered 200. Asked every 5 ms."""
    last = "nobody listens"
    deadline = time.perf_counter() + within_s
    async with httpx2.AsyncClient(trust_env=False) as client:
        while time.perf_counter() < deadline:
            with suppress(httpx2.TransportError):
                answer = await client.get(url)
                if answer.status_code == 200:
                    return time.perf_counter()
                last = answer.text
            await asyncio.sleep(0.005)
    raise TimeoutError(f"{url} did not become ready in {within_s:.0f} s: {last}")


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


async def made(client: httpx2.AsyncClient, path: str, body: Mapping[str, Any]) -> Json:
    """What a POST created."""
    return _checked(await client.post(path, json=dict(body)))


async def put(client: httpx2.AsyncClient, path: str, body: Mapping[str, Any]) -> Json:
    """What a PUT answered."""
    return _checked(await client.put(path, json=dict(body)))


def _checked(answer: httpx2.Response) -> Json:
    if not answer.is_success:
        raise RuntimeError(
            f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
        )
    found: Json = answer.json()
    return found


async def _output(variables: Mapping[str, str], *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, env=dict(variables)
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    return output.decode()
