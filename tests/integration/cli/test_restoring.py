"""A restore that is refused, or that fails, says why and leaves nothing behind."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from eai.cli import archive, backup
from eai.cli.archive import ANCHOR, DUMP, Manifest

NO_DUMP = b"This is no dump of PostgreSQL."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    members = {}
    for name, content in {ANCHOR: b"{}\n", DUMP: NO_DUMP}.items():
        members[name] = tmp_path / name
        members[name].write_bytes(content)
    digests = {name: archive.digest_of(path) for name, path in members.items()}
    target = tmp_path / "backup.tar"
    archive.write(target, Manifest("0.1.0", "0018", "2026-01-02T03:04:05+00:00", digests), members)
    return target


def _refused(environ: Mapping[str, str], home: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        backup.restore(environ, home, file, as_json=False)
    assert ended.value.code == 1
    return capsys.readouterr().err


def test_a_backup_that_is_not_there_is_named_with_what_to_name_instead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, missing = tmp_path / "home", tmp_path / "nosuch.tar"
    said = _refused({}, home, missing, capsys)
    assert said.endswith(f"there is no file {missing}; name one that `eai backup` wrote\n")
    assert not home.exists()


def test_what_the_system_refuses_is_told_with_the_file_and_without_a_number(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    below_a_file = file / "checkpoints.jsonl"
    said = _refused({"EAI_AUDIT_ANCHOR_PATH": str(below_a_file)}, tmp_path / "home", file, capsys)
    assert said == f"eai: {file}: file exists\n"


def test_the_anchor_of_another_instance_is_kept_and_named(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anchor, home = tmp_path / "elsewhere.jsonl", tmp_path / "home"
    anchor.write_text("what was anchored since\n")
    said = _refused({"EAI_AUDIT_ANCHOR_PATH": str(anchor)}, home, file, capsys)
    assert str(anchor) in said
    assert "EAI_AUDIT_ANCHOR_PATH" in said
    assert anchor.read_text() == "what was anchored since\n"
    assert not home.exists()


def test_a_restore_that_fails_leaves_no_anchor_outside_the_home(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anchor, home = tmp_path / "kept" / "elsewhere.jsonl", tmp_path / "home"
    for _ in range(2):
        said = _refused({"EAI_AUDIT_ANCHOR_PATH": str(anchor)}, home, file, capsys)
        assert "pg_restore" in said
        assert not anchor.exists()
        assert list(home.iterdir()) == []
