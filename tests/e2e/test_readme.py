"""The README, the tutorial and the how-to guides are true: commands run, and answer what the page shows.

A page's `sh` blocks run in one bash session, in order. What a page shows after a block is compared with what
the block printed: of `json` every member must be there, of `text` every line, and `…` stands for anything.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.provider.process import running_provider

ROOT = Path(__file__).parents[2]
VISITS = {
    "README": ("README.md",),
    "tutorial": ("docs/tutorial.md",),
    "how-to": (
        "docs/tutorial.md#start",
        "docs/how-to/add-people-and-keys.md",
        "docs/how-to/take-in-files.md",
        "docs/how-to/replace-documents.md",
        "docs/how-to/grant-access.md",
        "docs/how-to/connect-sources.md",
        "docs/how-to/write-policies.md",
        "docs/how-to/review-what-is-held.md",
        "docs/how-to/set-quotas.md",
        "docs/how-to/reindex.md",
        "docs/how-to/register-models.md",
        "docs/how-to/call-models.md",
        "docs/how-to/hand-context-to-a-model.md",
        "docs/how-to/decide-what-models-may-see.md",
        "docs/how-to/delete-and-receipts.md",
        "docs/how-to/keep-for-a-time.md",
        "docs/how-to/follow-a-document.md",
        "docs/how-to/erase-a-person.md",
        "docs/how-to/verify-the-audit-offline.md",
        "docs/how-to/read-the-metrics.md",
        "docs/how-to/examine-and-repair.md",
        "docs/how-to/back-up-and-restore.md",
    ),
}
"""Pages that are read in one session, in this order; of a page with `#`, that section only."""

PROVIDER = "https://models.example/v1"

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(shutil.which("curl") is None, reason="the pages use curl, which is not installed"),
]

_BLOCK = re.compile(r"^```(sh|json|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SESSION = """\
set -u
trap 'kill -TERM $(jobs -p) 2>/dev/null; wait' EXIT
"""


@dataclass
class Block:
    """One block of commands, and what the page says that it answers."""

    commands: str
    json: list[Any] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def wrong(self, output: str) -> Iterator[str]:
        """What the page shows and `output` is not."""
        for shown in self.json:
            yield from differences(shown, json.loads(output.splitlines()[-1]))
        for line in self.text:
            pattern = ".*".join(map(re.escape, line.split("…")))
            if not re.search(f"^{pattern}$", output, re.MULTILINE):
                yield f"no line is {line!r}"


def blocks_of(page: str) -> list[Block]:
    """A page's commands, without those of make: they have tests of their own."""
    name, _, section = page.partition("#")
    whole = (ROOT / name).read_text(encoding="utf-8")
    part = whole.split(f"\n## {section.capitalize()}\n")[1].split("\n## ")[0] if section else whole
    found: list[Block] = []
    for language, text in _BLOCK.findall(part):
        if language == "json":
            found[-1].json.append(json.loads(text))
        elif language == "text" and found:
            found[-1].text.extend(text.splitlines())
        elif not text.startswith("make "):
            found.append(Block(text))
    return found


def _pasted(block: Block, provider: str) -> str:
    """The commands as a reader would send them, with something in the place of `…`."""
    return block.commands.replace(PROVIDER, provider).replace("…", "0")


def run_in_one_session(blocks: list[Block], folder: Path, provider: str) -> list[str]:
    """What each block printed."""
    parts = [
        f"{{\n{_pasted(block, provider)}}} > {folder}/block-{number} 2>&1\necho {number} >> {folder}/done\n"
        for number, block in enumerate(blocks)
    ]
    work = folder / "work"
    work.mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("EAI_")}
    environ["EAI_EGRESS_ALLOW"] = "127.0.0.1"
    environ |= {"HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(
        ["bash", "-c", _SESSION + "".join(parts)],
        cwd=work, env=environ, stdin=subprocess.DEVNULL, timeout=380, check=True,
    )  # fmt: skip
    return [(folder / f"block-{number}").read_text(encoding="utf-8") for number in range(len(blocks))]


def differences(shown: Any, answered: Any, path: str = "$") -> Iterator[str]:
    """Where an answer is not what a page shows."""
    match shown:
        case "…":
            return
        case dict():
            for name, value in shown.items():
                if not isinstance(answered, dict) or name not in answered:
                    yield f"{path}.{name} is missing"
                else:
                    yield from differences(value, answered[name], f"{path}.{name}")
        case list() if isinstance(answered, list) and len(answered) == len(shown):
            for number, (one, other) in enumerate(zip(shown, answered, strict=True)):
                yield from differences(one, other, f"{path}[{number}]")
        case _ if shown != answered:
            yield f"{path} is {answered!r}, the page shows {shown!r}"


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.parametrize("pages", VISITS.values(), ids=VISITS)
async def test_what_a_page_tells_a_newcomer_is_true(pages: tuple[str, ...], folder: Path) -> None:
    blocks = [block for page in pages for block in blocks_of(page)]
    async with running_provider(dimensions=1024) as provider:
        printed = await asyncio.to_thread(run_in_one_session, blocks, folder, provider.url)
    wrong = [
        f"{block.commands}{difference}\n{output}"
        for block, output in zip(blocks, printed, strict=True)
        for difference in block.wrong(output)
    ]
    assert wrong == []
