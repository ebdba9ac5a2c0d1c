"""`eai audit verify` as an auditor runs it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eai.audit.scan import Reason
from eai.cli.audit import _WORDS
from eai.cli.main import app
from eai.integrations.anchor import FileAnchor
from tests.factories.chains import ALPHA, KEY, chain, checkpoint, export_of, head_of

ROWS = chain(ALPHA, 50)
PUBLIC_KEY = KEY.public_key().public_bytes_raw().hex()


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"".join(export_of(ROWS, recorded=[checkpoint(ROWS, 20)])))
    return path


@pytest.fixture
async def anchor(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoints.jsonl"
    await FileAnchor(path).append([checkpoint(ROWS, 20), checkpoint(ROWS, 40)])
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["audit", "verify", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_a_sound_chain_ends_with_0_and_says_what_it_rests_on(export: Path) -> None:
    code, out, _ = run("--file", export)
    assert code == 0
    assert out.splitlines() == [
        "valid: 50 entries of tenant aaaaaaaa-0000-4000-8000-000000000001",
        f"  head: 50 {head_of(ROWS).hash.hex()}",
        "  checkpoints that agree: 1",
        "  no anchor given: a chain cut short or rewritten whole would not be noticed",
        "  signing keys: as the export itself names them; --public-key would pin them",
    ]


def test_with_anchor_and_key_it_says_what_is_not_anchored_yet(export: Path, anchor: Path) -> None:
    code, out, _ = run("--file", export, "--anchor", anchor, "--public-key", PUBLIC_KEY)
    assert code == 0
    assert out.splitlines()[2:] == [
        "  checkpoints that agree: 3",
        "  not anchored: entries after 40, since 2026-01-31T12:00:40.500000+00:00",
    ]


def test_the_first_bad_entry_is_named_and_ends_with_1(export: Path) -> None:
    lines = export.read_bytes().splitlines(keepends=True)
    lines[13] = lines[13].replace(b"knowledge.query", b"knowledge.quarry")
    export.write_bytes(b"".join(lines))
    code, out, _ = run("--file", export)
    assert code == 1
    assert out.splitlines()[:2] == [
        "NOT VALID: 11 entries of tenant aaaaaaaa-0000-4000-8000-000000000001",
        "  first bad: entry 12 (its bytes or its place are not those that were hashed)",
    ]


def test_json_says_it_to_programs(export: Path, anchor: Path) -> None:
    export.write_bytes(b"".join(export_of(ROWS[:30])))
    assert run("--file", export)[0] == 0
    code, out, _ = run("--file", export, "--anchor", anchor, "--json")
    assert code == 1
    assert json.loads(out) == {
        "valid": False,
        "tenant": "aaaaaaaa-0000-4000-8000-000000000001",
        "events": 30,
        "head": {"seq": 30, "hash": ROWS[29].hash.hex()},
        "first_bad_seq": 31,
        "bad_until": 40,
        "reason": "tail_missing",
        "checkpoints": 1,
        "anchored_seq": 20,
        "unanchored_since": "2026-01-31T12:00:20.500000+00:00",
        "clock_back_at": None,
        "keys_pinned": False,
    }


def test_a_key_may_be_given_as_a_file(export: Path, tmp_path: Path) -> None:
    key = tmp_path / "key.hex"
    key.write_text(PUBLIC_KEY + "\n")
    code, out, _ = run("--file", export, "--public-key", key, "--json")
    assert (code, json.loads(out)["keys_pinned"]) == (0, True)


def test_a_key_that_is_not_theirs_makes_their_checkpoints_worthless(export: Path) -> None:
    code, out, _ = run("--file", export, "--public-key", "00" * 32)
    assert code == 1
    assert "entry 20 (a checkpoint is signed by a key that is not trusted)" in out


@pytest.mark.parametrize("name", ["file", "anchor", "public-key"])
def test_what_cannot_be_read_is_said_in_one_sentence(export: Path, tmp_path: Path, name: str) -> None:
    arguments = {"file": export} | {name: tmp_path / "missing"}
    options = [part for key, value in arguments.items() for part in (f"--{key}", value)]
    code, out, err = run(*options)
    assert (code, out) == (1, "")
    assert err == f"eai: {tmp_path / 'missing'} cannot be read: No such file or directory\n"


@pytest.mark.parametrize("content", ["{}\n", "[]\n", "Dear auditor,\n", ""])
def test_a_file_that_is_no_export_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    code, _, err = run("--file", path)
    assert (code, err) == (1, f"eai: {path}: not an audit export\n")


def test_a_key_that_is_none_is_said(export: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("hello")
    code, _, err = run("--file", export, "--public-key", key)
    assert (code, err) == (1, f"eai: {key} is no public key: 64 hex digits are needed\n")


def test_every_fault_has_words() -> None:
    assert set(_WORDS) == {reason.value for reason in Reason}
