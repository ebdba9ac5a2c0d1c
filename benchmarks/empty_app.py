"""The floor of an API process: the web framework with one route that says that it is ready."""

import argparse
import asyncio
import socket

import uvicorn
from fastapi import FastAPI
from uvicorn.loops.auto import auto_loop_factory

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--port", type=int, required=True)
app = FastAPI()


@app.get("/readyz")
async def ready() -> dict[str, str]:
    return {"status": "ready"}


def main() -> None:
    listener = socket.create_server(("127.0.0.1", parser.parse_args().port))
    config = uvicorn.Config(app, ws="none", log_config=None, access_log=False)
    with asyncio.Runner(loop_factory=auto_loop_factory(use_subprocess=False)) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
