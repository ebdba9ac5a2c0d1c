"""The keys of the demo's people, kept in a development home as its first keys are."""

import json
from collections.abc import Callable

from eai.cli.demo.api import Api, DemoFailed
from eai.cli.demo.scenario import Scenario, sample
from eai.cli.demo.seeded import Progress, Seeded, unwatched
from eai.cli.demo.seeding import seed
from eai.cli.supervisor import Access
from eai.integrations.home import HomeFolder, write_private

_KEPT = "demo-people.json"


def read_people_keys(home: HomeFolder) -> dict[str, str]:
    """Keys by name of the person; empty when no demo was put into this home."""
    try:
        found: dict[str, str] = json.loads((home.secrets / _KEPT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def administrator_of(access: Access) -> Api:
    """The API as the bootstrap administrator. Raises DemoFailed when the home does not keep that key."""
    if access.api_key is None:
        raise DemoFailed("this home keeps no administrator's key; name an empty folder with --home")
    return Api(access.url, access.api_key)


async def seed_home(
    administrator: Api, home: HomeFolder, scenario: Scenario, progress: Progress = unwatched
) -> Seeded:
    """Put a scenario into the instance that runs on `home`, and keep its people's keys there.

    May be repeated. Raises DemoFailed.
    """
    known = read_people_keys(home)
    seeded = await seed(administrator, scenario, known_keys=known, progress=progress)
    write_private(home.secrets / _KEPT, json.dumps(dict(seeded.keys), ensure_ascii=False, indent=2) + "\n")
    return seeded


async def seed_sample(access: Access, home: HomeFolder, report: Callable[[str], None]) -> None:
    """What `eai up --demo` adds. Raises DemoFailed."""
    scenario = sample()
    report(f"taking in {len(scenario.sources)} sample documents …")
    async with administrator_of(access) as administrator:
        seeded = await seed_home(administrator, home, scenario)
    report(f"they are in {seeded.alias}; the keys of their readers: eai keys show --home {home.path}")
