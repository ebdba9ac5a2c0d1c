"""One small executable module per worker deployment; each runs jobs that rows describe."""

import asyncio
import signal

from eai.bootstrap import Platform, build, job_handlers, maintain
from eai.platform.logging import configure_logging
from eai.platform.settings import Environment, Settings, load_settings, process_environ
from eai.platform.worker import Worker

MAINTENANCE_INTERVAL_S = 5.0


def main() -> None:
    """Work until SIGTERM or SIGINT; what is running then is finished or handed back."""
    settings = load_settings(process_environ())
    configure_logging(show_messages=settings.environment is not Environment.PRODUCTION)
    asyncio.run(_main(settings))


async def _main(settings: Settings) -> None:
    async with build(settings) as platform:
        worker = Worker(platform.database, platform.jobs, job_handlers(platform))
        tasks = [asyncio.create_task(worker.run()), asyncio.create_task(_maintain_forever(platform))]
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, tasks[0].cancel)
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _maintain_forever(platform: Platform) -> None:
    while True:
        await maintain(platform)
        await asyncio.sleep(MAINTENANCE_INTERVAL_S)
