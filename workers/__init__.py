"""One small executable module per worker deployment; each runs jobs that rows describe."""

import asyncio
import os
import signal
import sys
from collections.abc import Collection

import structlog
from prometheus_client import start_http_server

from eai.bootstrap import NotStarted, Platform, job_handlers, maintain, start, warm_up
from eai.kernel.errors import Unavailable
from eai.platform.cancellation import end_if_cancelled
from eai.platform.handlers import Group
from eai.platform.logging import configure_logging
from eai.platform.settings import Settings, SettingsError, WorkerSettings, load_settings, process_environ
from eai.platform.telemetry import configure_tracing
from eai.platform.worker import Worker

MAINTENANCE_INTERVAL_S = 10.0
_NEED_MODELS = {Group.INGESTION, Group.MAINTENANCE}

log = structlog.get_logger(__name__)


def main(groups: Collection[Group]) -> None:
    """Work at the jobs of these groups until SIGTERM or SIGINT; what runs then is finished or handed back.

    Exits with 1 and a sentence when it cannot begin.
    """
    environ = process_environ()
    try:
        settings = load_settings(environ)
    except SettingsError as error:
        sys.exit(f"eai: {error}")
    # Before there are threads, which would keep the priority that they began with. Whoever asks a question
    # waits for it, and nobody for a reindex.
    os.nice(settings.worker.niceness)
    configure_logging(show_messages=not settings.is_production)
    stop_tracing = configure_tracing(environ, "eai-worker")
    if settings.worker.metrics_port is not None:
        _serve_metrics(settings.worker.metrics_port, settings.worker.metrics_host)
    try:
        asyncio.run(_main(settings, groups))
    except NotStarted as error:
        sys.exit(f"eai: {error}")
    finally:
        stop_tracing()


def _serve_metrics(port: int, host: str) -> None:
    try:
        start_http_server(port, host)
    except OSError as error:
        sys.exit(f"eai: {host}:{port} of EAI_WORKER_METRICS_PORT cannot be had: {error.strerror}")


async def _main(settings: Settings, groups: Collection[Group]) -> None:
    slots = {group: number for group, number in _slots(settings.worker).items() if group in groups}
    async with start(settings) as platform:
        # Beside the first jobs: those that need no model do not wait for it.
        warming = [asyncio.create_task(warm_up(platform))] if _NEED_MODELS & slots.keys() else []
        worker = Worker(platform.database, platform.jobs, job_handlers(platform))
        tasks = [asyncio.create_task(worker.run(slots)), asyncio.create_task(_maintain_forever(platform))]
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, tasks[0].cancel)
        done, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in (*running, *warming):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            if not task.cancelled():
                # Neither ends by itself: whoever started this process should see that it failed.
                task.result()


def _slots(chosen: WorkerSettings) -> dict[Group, int]:
    return {
        Group.QUICK: chosen.quick_slots,
        Group.INGESTION: chosen.ingestion_slots,
        Group.MAINTENANCE: chosen.maintenance_slots,
    }


async def _maintain_forever(platform: Platform) -> None:
    while True:
        try:
            await maintain(platform)
        except Unavailable:
            log.warning("maintenance.postponed", exc_info=True)
        end_if_cancelled()
        await asyncio.sleep(MAINTENANCE_INTERVAL_S)
