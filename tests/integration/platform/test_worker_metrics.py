"""A worker process: its own numbers, and its place among the programs of its machine."""

import asyncio
import base64
import os
import socket
import sys
from pathlib import Path

import httpx2
import pytest

from tests.conftest import DatabaseUrls


@pytest.mark.timeout(90)
async def test_a_worker_serves_its_metrics_where_it_was_told_and_gives_way(
    database_urls: DatabaseUrls, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {
        "PATH": os.environ["PATH"],
        "EAI_ENV": "test",
        "EAI_HOME": str(tmp_path),
        "EAI_DATABASE_URL": database_urls.app,
        "EAI_MASTER_KEY": base64.b64encode(bytes(32)).decode(),
        "EAI_WORKER_METRICS_PORT": str(port),
        "EAI_WORKER_NICENESS": "7",
    }
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workers.all", env=environ, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert "eai_audit_unanchored_checkpoints" in await _metrics(port)
        assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)
    finally:
        worker.terminate()
        await worker.wait()


async def _metrics(port: int) -> str:
    async with httpx2.AsyncClient(trust_env=False) as client:
        while True:
            try:
                return (await client.get(f"http://127.0.0.1:{port}/metrics")).text
            except httpx2.TransportError:
                await asyncio.sleep(0.05)
