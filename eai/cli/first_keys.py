"""The keys of a home's first start, kept there: the one exception to "shown once", for development."""

import json

from eai.integrations.home import HomeFolder, write_private
from eai.platform.settings import Settings

_KEPT, _DRAFT = "keys.json", "keys.draft.json"


def read_keys(home: HomeFolder) -> dict[str, str]:
    """`api_key` and `platform_key`; empty when the home keeps none."""
    return _read(home, _KEPT)


async def first_keys_once(home: HomeFolder, settings: Settings) -> dict[str, str]:
    """The first keys of a new database, to be shown now; empty when it has had them for longer.

    Production keeps none: what this returns there is the only copy.
    """
    home.prepare()
    await keep_first_keys(home, settings)
    keys = read_keys(home)
    if keys and settings.is_production:
        (home.secrets / _KEPT).unlink()
    return keys


async def keep_first_keys(home: HomeFolder, settings: Settings) -> bool:
    """Create tenant `default` and its first keys where there is none; whether it was so.

    The keys are written down before they are given out, and handed in again after a crash between
    the two: a home never has a tenant that nobody can open.
    """
    if read_keys(home):
        return False
    # Needed once in the life of a home, and everything hangs on them.
    from eai.bootstrap import build, first_start  # noqa: PLC0415
    from eai.identity.credentials import Credential  # noqa: PLC0415
    from eai.identity.onboarding import FirstKeys  # noqa: PLC0415

    texts = _read(home, _DRAFT)
    was_interrupted = bool(texts)
    if not was_interrupted:
        texts = {name: Credential.generate().text for name in ("api_key", "platform_key")}
        write_private(home.secrets / _DRAFT, json.dumps(texts) + "\n")
    keys = FirstKeys(
        administrator=Credential.parse(texts["api_key"]), operator=Credential.parse(texts["platform_key"])
    )
    async with build(settings) as platform:
        made = await first_start(platform, keys)
    draft = home.secrets / _DRAFT
    if made is None and not was_interrupted:
        draft.unlink()  # the tenant is older than this home, and its keys are not these
        return False
    draft.replace(home.secrets / _KEPT)
    return True


def _read(home: HomeFolder, name: str) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((home.secrets / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found
