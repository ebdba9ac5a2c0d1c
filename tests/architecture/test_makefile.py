"""`make setup` builds upon a whole environment only."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_an_interrupted_setup_left_is_removed(tmp_path: Path, is_whole: bool) -> None:
    left = tmp_path / "left"
    left.touch()
    if is_whole:
        (tmp_path / ".ready").touch()
    made = subprocess.run(
        ["make", "--no-print-directory", "--always-make", "setup", f"VENV={tmp_path}", "PYTHON=false"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode != 0
    assert made.stdout.startswith(f"Fetching everything into {tmp_path}")
    assert left.exists() is is_whole
