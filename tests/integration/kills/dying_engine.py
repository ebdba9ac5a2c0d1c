"""The engine process, ended after it has made its first change of one kind and before it says so.

`python -m tests.integration.kills.dying_engine KIND --folder DIR --socket PATH`
"""

import os
import signal
import sys
from typing import Any

from eai.integrations.qdrant import engine, schedule
from eai.integrations.qdrant.edge import EdgeShards
from eai.integrations.qdrant.shard import Steps
from eai.knowledge.ports import SpaceId

KINDS = ("ensure_space", *schedule.CHANGES)


def main(kind: str, arguments: list[str]) -> int:
    if kind == "ensure_space":
        made = EdgeShards.ensure_space

        def ensure_space(self: EdgeShards, space: SpaceId) -> None:
            made(self, space)
            os.kill(os.getpid(), signal.SIGKILL)

        EdgeShards.ensure_space = ensure_space  # type: ignore[method-assign]
    else:
        change = schedule.CHANGES[kind]

        def steps(*arguments: Any) -> Steps:
            for _ in change(*arguments):
                os.kill(os.getpid(), signal.SIGKILL)
                yield

        schedule.CHANGES[kind] = steps
    return engine.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
