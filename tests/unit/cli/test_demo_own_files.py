"""`eai demo --docs`: which files are taken, with which rights, and how that is said."""

from pathlib import Path

import pytest

from eai.access.classification import Classification
from eai.cli.demo.own_files import COLLEAGUE, DIRECTOR, FolderUnusable, Found, read_folder, suggested_question


def write(folder: Path, name: str, content: str | bytes = "Some words.") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def levels(found: Found) -> dict[str, str]:
    return {source.file: source.level.value for source in found.sources}


def test_a_folder_named_after_a_level_gives_it_and_the_strictest_on_the_path_wins(tmp_path: Path) -> None:
    for name in (
        "plain.txt",
        "public/open.txt",
        "notes/Confidential/deep/memo.md",
        "secret/public/plan.md",
        "confidential.txt",
    ):
        write(tmp_path, name)
    assert levels(read_folder(tmp_path)) == {
        "confidential.txt": "internal",
        "notes/Confidential/deep/memo.md": "confidential",
        "plain.txt": "internal",
        "public/open.txt": "public",
        "secret/public/plan.md": "secret",
    }


def test_levels_may_be_named_in_french_in_any_case_and_with_accents_or_without(tmp_path: Path) -> None:
    for folder in ("Public", "INTERNE", "Confidentiel", "Restreint", "Sécret"):
        write(tmp_path, f"{folder}/a.txt")
    found = read_folder(tmp_path)
    assert levels(found) == {
        "Public/a.txt": "public",
        "INTERNE/a.txt": "internal",
        "Confidentiel/a.txt": "confidential",
        "Restreint/a.txt": "restricted",
        "Sécret/a.txt": "secret",
    }
    assert found.doubtful == ()


def test_a_folder_that_only_looks_like_a_level_is_read_strictly_and_named(tmp_path: Path) -> None:
    for folder in (
        "HR-confidential", "confidental", "RH confidentielles", "secret or restricted", "public/unrestricted",
        "publications", "international", "sector", "contracts",
    ):  # fmt: skip
        write(tmp_path, f"{folder}/a.txt")
    found = read_folder(tmp_path)
    assert levels(found) == {
        "HR-confidential/a.txt": "confidential",
        "confidental/a.txt": "confidential",
        "RH confidentielles/a.txt": "confidential",
        "secret or restricted/a.txt": "secret",
        "public/unrestricted/a.txt": "restricted",
        "publications/a.txt": "internal",
        "international/a.txt": "internal",
        "sector/a.txt": "internal",
        "contracts/a.txt": "internal",
    }
    assert found.doubtful == (
        "HR-confidential/ is no level's name, and is taken as confidential to be safe",
        "RH confidentielles/ is no level's name, and is taken as confidential to be safe",
        "confidental/ is no level's name, and is taken as confidential to be safe",
        "public/unrestricted/ is no level's name, and is taken as restricted to be safe",
        "publications/ is not taken as public: only a folder named just that is",
        "secret or restricted/ is no level's name, and is taken as secret to be safe",
    )


def test_what_cannot_be_taken_is_named_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path, "good.txt")
    write(tmp_path, "scan.pdf")
    write(tmp_path, "latin.txt", "été".encode("latin-1"))
    write(tmp_path, "empty.md", " \n")
    write(tmp_path, "huge.txt", b"a" * (5 * 1024 * 1024 + 1))
    found = read_folder(tmp_path)
    assert list(levels(found)) == ["good.txt"]
    assert found.left_out == (
        "empty.md: holds no text",
        "huge.txt: larger than 5 MiB",
        "latin.txt: not UTF-8 text",
        "scan.pdf: only .txt, .md and .html are taken",
    )


def test_hidden_files_and_links_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "good.txt")
    write(tmp_path, ".git/config.txt")
    write(tmp_path, ".hidden.txt")
    (tmp_path / "link.txt").symlink_to("/etc/hostname")
    (tmp_path / "linked").symlink_to("/etc")
    found = read_folder(tmp_path)
    assert (list(levels(found)), found.left_out) == (["good.txt"], ())


@pytest.mark.parametrize(
    ("name", "content", "title"),
    [
        ("a.md", "preface\n\n# The *plan* #\n\n## Part", "The *plan*"),
        ("a.md", "no heading", "a"),
        ("a.html", "<html><TITLE lang='en'>Soup &amp;\n salad</TITLE><p>x", "Soup & salad"),
        ("a.txt", "# not a heading here", "a"),
    ],
)
def test_a_title_is_what_the_file_says_or_its_name(
    tmp_path: Path, name: str, content: str, title: str
) -> None:
    write(tmp_path, name, content)
    assert read_folder(tmp_path).sources[0].title == title


def test_the_suggested_question_is_about_the_strictest_document(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    write(tmp_path, "restricted/b.md", "# Sale of the yard\n\nSoon.")
    assert suggested_question(read_folder(tmp_path).sources) == "Sale of the yard"


def test_two_people_ask_one_cleared_for_everything(tmp_path: Path) -> None:
    write(tmp_path, "secret/a.txt")
    scenario = read_folder(tmp_path).asking("What?")
    assert [(q.text, q.by) for q in scenario.questions] == [("What?", ("Colleague", "Director"))]
    assert [scenario.sources[0].is_open_to(person) for person in (COLLEAGUE, DIRECTOR)] == [False, True]
    assert COLLEAGUE.clearance is Classification.INTERNAL


def test_a_folder_without_anything_to_show_says_why(tmp_path: Path) -> None:
    write(tmp_path, "scan.pdf")
    with pytest.raises(
        FolderUnusable, match=r"can be used\n  scan\.pdf: only \.txt, \.md and \.html are taken"
    ):
        read_folder(tmp_path)
    with pytest.raises(FolderUnusable, match="is no folder"):
        read_folder(tmp_path / "missing")
