"""What a judge never does, whatever a schema would have it do."""

import subprocess
import sys

import pytest
from referencing.exceptions import Unresolvable

from eai.contracts.validation import judge_by

BACKTRACKING = """
from eai.contracts.validation import judge_by
print(sum(1 for _ in judge_by({"pattern": "^(a+)+$"}).iter_errors("a" * 100 + "!")))
"""


def test_a_pattern_that_others_try_for_ever_is_judged_at_once() -> None:
    """In a process of its own: such an engine does not let go before the end of the world."""
    done = subprocess.run(
        [sys.executable, "-c", BACKTRACKING], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "1\n"


def test_a_reference_to_elsewhere_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[object] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *asked, **_: fetched.append(asked))
    judge = judge_by({"$ref": "http://127.0.0.1:9/none"})
    with pytest.raises(Unresolvable):
        list(judge.iter_errors({}))
    assert fetched == []
