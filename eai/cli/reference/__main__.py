"""`python -m eai.cli.reference` writes the pages; with `--check` it only names those that are out of date."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from eai.cli.reference.audit_actions import audit_actions_page
from eai.cli.reference.commands import commands_page
from eai.cli.reference.metrics import metrics_page
from eai.cli.reference.operations import operations_page
from eai.cli.reference.roles import roles_page
from eai.cli.reference.variables import settings_page

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "docs" / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "audit-actions.md": audit_actions_page,
    "cli.md": commands_page,
    "http.md": operations_page,
    "metrics.md": metrics_page,
    "roles.md": roles_page,
    "settings.md": settings_page,
}


def outdated() -> Mapping[Path, str]:
    """The pages that differ from what the code says, and what they must hold."""
    wanted = {FOLDER / name: page() for name, page in PAGES.items()}
    return {
        path: text for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text
    }


def main(arguments: list[str]) -> int:
    """Write what is out of date, or only name it."""
    pages = outdated()
    for path, text in pages.items():
        print(path.relative_to(ROOT))  # noqa: T201 - a command line tool
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return 1 if pages and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
