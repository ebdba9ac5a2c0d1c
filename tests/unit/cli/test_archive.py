"""A backup is restored whole, or not begun: whatever is wrong with the file is found before."""

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from eai.cli import archive
from eai.cli.archive import ANCHOR, DUMP, MANIFEST, ArchiveUnusable, Manifest

CONTENTS = {DUMP: b"rows" * 1000, "secrets/master-key": b"key", ANCHOR: b"{}\n"}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    files = {}
    for number, (name, content) in enumerate(CONTENTS.items()):
        files[name] = tmp_path / f"{number}"
        files[name].write_bytes(content)
    digests = {name: archive.digest_of(path) for name, path in files.items()}
    target = tmp_path / "backup.tar"
    archive.write(target, Manifest("0.1.0", "0017", "2026-01-02T03:04:05+00:00", digests), files)
    return target


def rewritten(whole: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    """The archive with other members than it was written with."""
    with tarfile.open(whole) as read:
        members = {m.name: (read.extractfile(m) or io.BytesIO()).read() for m in read}
    change(members)
    with tarfile.open(whole, "w") as written:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            written.addfile(member, io.BytesIO(content))
    return whole


def test_what_was_written_is_checked_and_unpacked(whole: Path, tmp_path: Path) -> None:
    manifest = archive.check(whole)
    assert (manifest.version, manifest.revision) == ("0.1.0", "0017")
    places = {DUMP: tmp_path / "home" / "dump", ANCHOR: tmp_path / "home" / "anchor" / "file"}
    archive.unpack(whole, places, tmp_path / "home" / "secrets")
    assert places[DUMP].read_bytes() == CONTENTS[DUMP]
    assert places[ANCHOR].read_bytes() == CONTENTS[ANCHOR]
    secret = tmp_path / "home" / "secrets" / "master-key"
    assert secret.read_bytes() == b"key"
    assert {path.stat().st_mode & 0o777 for path in (whole, secret, *places.values())} == {0o600}


def test_an_earlier_backup_is_never_written_over(whole: Path) -> None:
    with pytest.raises(FileExistsError):
        archive.write(whole, archive.check(whole), {})
    assert [path.name for path in whole.parent.glob(".*")] == []


@pytest.mark.parametrize("kept", [0, 100, 700, 3000])
def test_a_file_that_was_cut_short_is_refused(whole: Path, kept: int) -> None:
    whole.write_bytes(whole.read_bytes()[:kept])
    with pytest.raises(ArchiveUnusable):
        archive.check(whole)


def _manifest_with(held: Mapping[str, bytes], **fields: object) -> bytes:
    return json.dumps({**json.loads(held[MANIFEST]), **fields}).encode()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.update({DUMP: b"rowS" * 1000}), "database.dump"),
        (lambda m: m.pop(DUMP), "database.dump"),
        (lambda m: m.update({"secrets/other": b"x"}), "secrets/other"),
        (lambda m: m.update({"../outside": b"x"}), "outside"),
        (lambda m: m.update({"secrets/../../outside": b"x"}), "outside"),
        (lambda m: m.update({"/etc/passwd": b"x"}), "passwd"),
        (lambda m: m.update({"secrets/.hidden": b"x"}), "hidden"),
        (lambda m: m.update({MANIFEST: b"{"}), "manifest"),
        (lambda m: m.update({MANIFEST: b"[]"}), "manifest"),
        (lambda m: m.update({MANIFEST: _manifest_with(m, format=2)}), "format 2"),
        (lambda m: m.update({MANIFEST: _manifest_with(m, members={})}), "damaged"),
        (lambda m: (m.pop(MANIFEST), m.update({"x": b""})), "no backup"),
    ],
)
def test_a_file_that_was_changed_is_refused(
    whole: Path, change: Callable[[dict[str, bytes]], object], says: str
) -> None:
    with pytest.raises(ArchiveUnusable, match=says):
        archive.check(rewritten(whole, change))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
def test_nothing_but_plain_files_is_read(whole: Path, kind: bytes) -> None:
    with tarfile.open(whole, "a") as appended:
        member = tarfile.TarInfo("secrets/link")
        member.type, member.linkname = kind, "/etc/passwd"
        appended.addfile(member)
    with pytest.raises(ArchiveUnusable):
        archive.check(whole)


@pytest.mark.parametrize(
    "headers",
    [
        {"GNU.sparse.map": "a,b"},
        {"GNU.sparse.map": "0,3", "GNU.sparse.size": "1000000000000"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "x"},
        {"size": "99999999999999999999"},
        {"path": "../../secrets/x"},
    ],
    ids=["a map of no numbers", "a hole", "a size of no number", "a size beyond the end", "another path"],
)
def test_what_a_header_says_of_a_member_is_not_believed(whole: Path, headers: dict[str, str]) -> None:
    with tarfile.open(whole, "a", format=tarfile.PAX_FORMAT) as appended:
        member = tarfile.TarInfo("secrets/x")
        member.size, member.pax_headers = 3, headers
        appended.addfile(member, io.BytesIO(b"abc"))
    with pytest.raises(ArchiveUnusable):
        archive.check(whole)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a tar" * 1000)
    with pytest.raises(ArchiveUnusable):
        archive.check(tmp_path / "x")
