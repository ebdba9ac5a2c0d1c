"""Settings for commands that work on a home: what `eai up` arranged there fills in what is not given."""

import json
import secrets
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from eai.integrations.home import HomeFolder, HomeUnusable, write_private
from eai.platform.settings import Environment, Settings, load_settings

# Names and values of variables; the values that are secrets are paths of files.
_ARRANGED = "environment.json"


def read_settings(environ: Mapping[str, str], *, home: Path | None = None) -> Settings:
    """The settings of this environment, or of the running home. Raises SettingsError.

    A home named by hand, or an environment of kind dev or test, takes what is missing from what
    `eai up` left in the home; production takes nothing from there.
    """
    named: dict[str, str] = {} if home is None else {"EAI_HOME": str(home)}
    default = Environment.PRODUCTION if home is None else Environment.DEV
    own = {**environ, **named}
    if (own.get("EAI_ENV") or default) == Environment.PRODUCTION:
        return load_settings(own, default_environment=default)
    folder = load_settings(own, default_environment=default).home
    return load_settings(merged(own, arranged(folder)), default_environment=default)


def settings_to_examine(environ: Mapping[str, str], *, home: Path | None = None) -> Settings:
    """The settings that `eai doctor` judges. Raises SettingsError.

    As `read_settings`, but where neither a home nor a kind of environment nor a database is named, the
    home is looked into, and counts as one for development when `eai up` ran there. Nothing but looking
    is done with these, so production still takes nothing from a home.
    """
    database = ("EAI_DATABASE_URL", "EAI_DATABASE_URL_FILE")
    if home is None and not any(environ.get(name) for name in ("EAI_ENV", *database)):
        places = {name: value for name, value in environ.items() if name in {"EAI_HOME", "HOME"}}
        folder = load_settings(places, default_environment=Environment.DEV).home
        with suppress(PermissionError):
            home = folder if arranged(folder) else None
    return read_settings(environ, home=home)


def merged(environ: Mapping[str, str], fallback: Mapping[str, str]) -> dict[str, str]:
    """`environ`, and of `fallback` what it does not set in either form."""
    given = {name.removesuffix("_FILE") for name, value in environ.items() if value}
    added = {name: value for name, value in fallback.items() if name.removesuffix("_FILE") not in given}
    return {**environ, **added}


def arranged(home: Path) -> dict[str, str]:
    """The variables that `eai up` gave to the processes of `home`; empty when it never ran there."""
    try:
        text = (HomeFolder(home).secrets / _ARRANGED).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    found: dict[str, str] = json.loads(text)
    return found


def master_key(home: HomeFolder) -> str:
    """The master key of this home, in the form of EAI_MASTER_KEY; made at its first start only."""
    name = "master-key"
    if home.postgres.exists() and not (home.secrets / name).exists():
        raise HomeUnusable(
            f"{home.secrets / name} is gone, and the database of {home.path} cannot be read without it; "
            "restore that file, or begin with an empty home"
        )
    return home.secret(name, lambda: b64encode(secrets.token_bytes(32)).decode())


def arrange(
    home: HomeFolder, variables: Mapping[str, str], secret_variables: Mapping[str, str]
) -> dict[str, str]:
    """Keep variables in the home, secrets as files of their own, and return all as a process needs them."""
    result = dict(variables)
    for name, value in secret_variables.items():
        path = home.secrets / name.removeprefix("EAI_").lower().replace("_", "-")
        if not path.exists() or path.read_text(encoding="utf-8") != value:
            write_private(path, value)
        result[f"{name}_FILE"] = str(path)
    write_private(home.secrets / _ARRANGED, json.dumps(result, indent=2) + "\n")
    return result
