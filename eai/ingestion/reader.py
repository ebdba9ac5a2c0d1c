"""The child process that reads untrusted content: bytes in, text or a fault out, within hard limits.

`python -m eai.ingestion.reader TYPE` reads standard input. Whatever a parser does to itself here (a
crash, a memory bomb, an endless loop) ends this process and nothing else.
"""

import json
import resource
import sys

from eai.ingestion.extraction import extract
from eai.kernel.errors import EaiError

MEMORY_BYTES = 768 * 1024 * 1024
CPU_S = 10
REFUSED = 3
"""Exit code of a refusal; standard output then holds its details as JSON."""


def main() -> int:
    """Extract the text of standard input, and write it to standard output as UTF-8."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        text = extract(sys.stdin.buffer.read(), sys.argv[1])
    except EaiError as error:
        sys.stdout.write(json.dumps({"code": error.code, "fields": error.details.get("fields")}))
        return REFUSED
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
