"""Finds in the product's source every place at which it passes something on to the outside."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from eai.integrations.qdrant.client import EngineVectors
from tests.integration.kills.passages import ROOT

STORE = {name for name in vars(EngineVectors) if not name.startswith("_")} - {"check", "close"}
DATABASE = {"transaction": "commit", "statement": "statement", "waiting_statement": "statement"}


@dataclass(frozen=True, order=True)
class CallSite:
    """A call on the lines from `first` to `last`."""

    site: str
    what: str
    first: int
    last: int


def call_sites(*folders: str) -> Iterator[CallSite]:
    """Those of all modules below these folders of the repository, or of these modules."""
    for folder in folders:
        path = ROOT / folder
        for module in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield from _of_module(module)


def _of_module(module: Path) -> Iterator[CallSite]:
    place = module.relative_to(ROOT).as_posix()
    for qualified, call in _calls(ast.parse(module.read_text(encoding="utf-8")), ()):
        what = _what(call)
        if what is not None:
            last = call.lineno if call.end_lineno is None else call.end_lineno
            yield CallSite(f"{place} {'.'.join(qualified)}", what, call.lineno, last)


def _calls(node: ast.AST, within: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield within, child
        name = (
            child.name if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else None
        )
        inside = () if name is None else (*_locals(child, node), name)
        yield from _calls(child, (*within, *inside))


def _locals(child: ast.AST, parent: ast.AST) -> tuple[str, ...]:
    is_local = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
    return ("<locals>",) if is_local else ()


def _what(call: ast.Call) -> str | None:
    """What passes there, if anything does: told by what the product calls its database, store and way out."""
    if not isinstance(call.func, ast.Attribute):
        return None
    owner, method = ast.unparse(call.func.value), call.func.attr
    if owner.endswith("database"):
        return DATABASE.get(method)
    if owner.endswith("vectors") and method in STORE:
        return method
    return "post" if owner.endswith("outbound") and method == "post" else None
