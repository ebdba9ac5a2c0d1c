"""The file that a backup is: a tar of a dump, the secrets and the anchor, with a list of their digests.

It is read with nothing but what is expected in it: regular files of these names, as long and with the digest
that the list says. Nothing is unpacked before all of it was found so.
"""

import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import IO, Any

FORMAT = 1
MANIFEST = "manifest.json"
DUMP = "database.dump"
ANCHOR = "checkpoints.jsonl"
_SECRET = re.compile(r"secrets/[a-z0-9][a-z0-9.-]{0,60}")
_LARGEST_MANIFEST = 1_000_000


class ArchiveUnusable(Exception):
    """The file is no backup that this version can restore; the text says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself: of which version and schema it is, when it was made, what is in it."""

    version: str
    revision: str
    created_at: str
    members: Mapping[str, str]

    def to_json(self) -> bytes:
        """As it is stored."""
        fields = {
            "format": FORMAT,
            "version": self.version,
            "revision": self.revision,
            "created_at": self.created_at,
            "members": dict(self.members),
        }
        return json.dumps(fields, indent=2).encode() + b"\n"


def write(target: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write a backup of `files` by member name to `target`: whole and on disk, or not at all."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                _add(archive, MANIFEST, io.BytesIO(manifest.to_json()), len(manifest.to_json()))
                for name, path in files.items():
                    with path.open("rb") as content:
                        _add(archive, name, content, path.stat().st_size)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, target)  # unlike a rename, it never replaces an earlier backup
    finally:
        draft.unlink(missing_ok=True)


def digest_of(path: Path) -> str:
    """The digest that a manifest holds of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def check(source: Path) -> Manifest:
    """What the backup says of itself, once all of it was read and found to be so. Raises ArchiveUnusable."""
    if not source.is_file():
        raise ArchiveUnusable(f"there is no file {source}; name one that `eai backup` wrote")
    found: dict[str, str] = {}
    manifest: Manifest | None = None
    for name, content in _members(source):
        if manifest is None:
            if name != MANIFEST:
                raise ArchiveUnusable(f"{source} is no backup of eai: it does not begin with {MANIFEST}")
            manifest = _manifest(_read(content, _LARGEST_MANIFEST))
        elif name in found or not (name in {DUMP, ANCHOR} or _SECRET.fullmatch(name)):
            raise ArchiveUnusable(f"{source} holds {name!r}, which no backup does")
        else:
            found[name] = _digest(content)
    if manifest is None:
        raise ArchiveUnusable(f"{source} is empty")
    wrong = sorted(
        name for name in {*found, *manifest.members} if found.get(name) != manifest.members.get(name)
    )
    if wrong or DUMP not in found:
        raise ArchiveUnusable(f"{source} is damaged: {', '.join(wrong) or DUMP} is not what was backed up")
    return manifest


def unpack(source: Path, places: Mapping[str, Path], secrets: Path) -> None:
    """Write the members of a backup that was checked: those of `places` there, secrets below `secrets`."""
    for name, content in _members(source):
        target = places.get(name) or (secrets / Path(name).name if _SECRET.fullmatch(name) else None)
        if target is None:
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            while piece := _read(content, 1 << 20):
                file.write(piece)


def _members(source: Path) -> Iterator[tuple[str, IO[bytes]]]:
    try:
        with tarfile.open(source, mode="r:") as archive:
            for member in archive:
                is_plain = member.isreg() and not member.issparse()
                content = archive.extractfile(member) if is_plain else None
                if content is None:
                    raise ArchiveUnusable(f"{source} holds {member.name!r}, which is no plain file")
                yield member.name, content
    except (tarfile.TarError, EOFError, ValueError) as error:  # the last from numbers that are none
        raise ArchiveUnusable(f"{source} is no backup, or cut short: {error}") from error


def _manifest(content: bytes) -> Manifest:
    try:
        fields: dict[str, Any] = json.loads(content)
        if fields["format"] != FORMAT:
            raise ArchiveUnusable(f"the backup has format {fields['format']}, this version reads {FORMAT}")
        members = {str(name): str(digest) for name, digest in fields["members"].items()}
        return Manifest(fields["version"], fields["revision"], fields["created_at"], members)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArchiveUnusable("the backup's manifest cannot be read") from error


def _digest(content: IO[bytes]) -> str:
    digest = sha256()
    while piece := _read(content, 1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def _read(content: IO[bytes], size: int) -> bytes:
    try:
        return content.read(size)
    except (tarfile.TarError, EOFError) as error:
        raise ArchiveUnusable(f"the backup is cut short: {error}") from error


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    archive.addfile(member, content)
