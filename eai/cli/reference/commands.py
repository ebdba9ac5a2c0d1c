"""Every command and option of `eai`, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from eai.cli.main import app
from eai.cli.reference.tables import page, table

_PREFACE = """\
Answers go to standard output, everything else to standard error. Exit code 0 means that what was asked for
was done, 1 that it was not, with a sentence that says why, 2 that the command line cannot be understood.

Workers have no command of their own: `python -m workers.all` runs one, and `workers.quick`,
`workers.ingestion` and `workers.maintenance` one that takes a part of the jobs."""


def commands_page() -> str:
    """docs/reference/cli.md."""
    return page("Commands", _PREFACE, [_section(name, command) for name, command in commands()])


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that can be run, by its whole name."""
    yield from _inside("eai", get_command(app))


def _inside(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word in sorted(inner):
        yield from _inside(f"{name} {word}", inner[word])


def _section(name: str, command: Any) -> str:
    rows = [_row(option) for option in command.params if not getattr(option, "hidden", False)]
    text = f"## {name}\n\n{command.help.strip()}"
    return f"{text}\n\n{table(('option', 'default', 'meaning'), rows)}" if rows else text


def _row(option: Any) -> tuple[str, str, str]:
    names = "`, `".join([*option.opts, *option.secondary_opts])
    is_needed = " (required)" if option.required else ""
    is_told = option.default not in (None, False) and not option.required
    return f"`{names}`{is_needed}", f"`{option.default}`" if is_told else "", option.help or ""
