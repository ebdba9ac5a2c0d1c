"""A demo of somebody's own files: rights come from the names of subfolders, and are said before anything."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path, PurePosixPath

from eai.access.classification import Classification, highest
from eai.cli.demo.folder_levels import level_of, remark_on
from eai.cli.demo.scenario import CONTENT_TYPES, Person, Question, Scenario, Source

MAX_FILES = 1_000
MAX_BYTES = 5 * 1024 * 1024
MAX_TITLE = 200
TOP_K = 8
_NAMED_AT_MOST = 10

HOW_RIGHTS_ARE_READ = (
    "Rights: a file is internal, or has the level that a subfolder is named after "
    "(public, internal, confidential, restricted, secret, or public, interne, confidentiel, restreint, "
    "secret; the strictest on its path). "
    "Nobody is excluded otherwise: whoever has the clearance may read."
)

COLLEAGUE = Person("Colleague", "an employee", "user", Classification.INTERNAL, (), ("member",))
DIRECTOR = Person("Director", "head of it all", "user", Classification.SECRET, (), ("member",))

_TITLES = {
    "text/markdown": re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE),
    "text/html": re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL),
}


class FolderUnusable(Exception):
    """There is nothing to show; the text says what is needed."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds, which files are left out for which reason, and which folders look like levels."""

    folder: str
    sources: tuple[Source, ...]
    left_out: tuple[str, ...]
    doubtful: tuple[str, ...] = ()

    def asking(self, question: str) -> Scenario:
        """These files, and one question asked by two people."""
        return Scenario(
            name=f"Files of {self.folder}"[:MAX_TITLE],
            description="Files shown by `eai demo --docs`.",
            classification=Classification.INTERNAL,
            groups=(),
            people=(COLLEAGUE, DIRECTOR),
            sources=self.sources,
            questions=(Question(question, (COLLEAGUE.name, DIRECTOR.name)),),
            top_k=TOP_K,
        )


def read_folder(folder: Path) -> Found:
    """A folder's .txt, .md and .html files. Raises FolderUnusable."""
    if not folder.is_dir():
        raise FolderUnusable(f"{folder} is no folder; name one that holds .txt, .md or .html files")
    sources: list[Source] = []
    left_out: list[str] = []
    for path in _files(folder):
        if len(sources) == MAX_FILES:
            left_out.append(f"everything after {MAX_FILES} files: a demo takes no more")
            break
        source = _read(folder, path)
        if isinstance(source, Source):
            sources.append(source)
        else:
            left_out.append(source)
    if not sources:
        reasons = "".join(f"\n  {reason}" for reason in left_out[:_NAMED_AT_MOST])
        raise FolderUnusable(f"{folder} holds no .txt, .md or .html file that can be used{reasons}")
    return Found(folder.resolve().name, tuple(sources), tuple(left_out), tuple(_doubtful(sources)))


def suggested_question(sources: Sequence[Source]) -> str:
    """What the strictest document is about: the question most likely to be answered differently."""
    return max(sources, key=lambda source: source.level.rank).title


def _files(folder: Path) -> Iterator[Path]:
    """Every file below `folder`, in a stable order; hidden ones and links are passed over."""
    for place, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and not path.is_symlink():
                yield path


def _read(folder: Path, path: Path) -> Source | str:
    """The document in `path`, or why it is left out."""
    name = path.relative_to(folder).as_posix()
    content_type = CONTENT_TYPES.get(path.suffix.lower())
    if content_type is None:
        return f"{name}: only .txt, .md and .html are taken"
    try:
        if path.stat().st_size > MAX_BYTES:
            return f"{name}: larger than {MAX_BYTES // 1024 // 1024} MiB"
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return f"{name}: not UTF-8 text"
    except OSError as error:
        return f"{name}: {error.strerror}"
    if not any(character.isalnum() for character in content):
        return f"{name}: holds no text"
    level = _level(path.relative_to(folder))
    return Source(
        file=name,
        title=_title(content, content_type) or path.stem,
        content=content,
        content_type=content_type,
        level=level,
        own_level=level,
    )


def _level(path: Path) -> Classification:
    named = [level for part in path.parts[:-1] if (level := level_of(part)) is not None]
    return highest(*named) if named else Classification.INTERNAL


def _doubtful(sources: Sequence[Source]) -> Iterator[str]:
    """A sentence for each folder whose name looks like a level's and is none."""
    folders = {folder for source in sources for folder in PurePosixPath(source.file).parents}
    for folder in sorted(folders):
        if remark := remark_on(folder.name):
            yield f"{folder}/ {remark}"


def _title(content: str, content_type: str) -> str | None:
    pattern = _TITLES.get(content_type)
    match = pattern.search(content) if pattern else None
    return " ".join(unescape(match[1]).split())[:MAX_TITLE] if match else None
