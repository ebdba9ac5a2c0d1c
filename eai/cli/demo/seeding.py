"""Puts a scenario into a running instance, over its API. May be repeated: what is there is found again."""

from collections.abc import Mapping
from typing import Any

from eai.cli.demo.api import Api, DemoFailed
from eai.cli.demo.intake import take_in
from eai.cli.demo.scenario import Person, Scenario
from eai.cli.demo.seeded import Progress, Seeded, unwatched


async def seed(
    administrator: Api,
    scenario: Scenario,
    *,
    known_keys: Mapping[str, str] | None = None,
    progress: Progress = unwatched,
) -> Seeded:
    """Make the groups, the people with their keys, the base, and take the documents in.

    Groups, people and the base are found by name, and people get the rights of the scenario again.
    Those in `known_keys` keep their key. Raises DemoFailed.
    """
    groups = await _groups(administrator, scenario)
    keys = await _keys(administrator, scenario, groups, known_keys or {})
    base = await _base(administrator, scenario)
    seeded = Seeded(base["id"], base["alias"], base["embedding_model"], keys, groups)
    await take_in(administrator, scenario.sources, seeded, progress)
    if not seeded.documents:
        raise DemoFailed("no document could be taken in:\n  " + "\n  ".join(seeded.left_out[:10]))
    return seeded


async def _groups(administrator: Api, scenario: Scenario) -> dict[str, str]:
    found = {group["name"]: group["id"] async for group in administrator.everything("/v1/groups")}
    for name in scenario.groups:
        if name not in found:
            found[name] = (await administrator.post("/v1/groups", {"name": name}))["id"]
    return {name: found[name] for name in scenario.groups}


async def _keys(
    administrator: Api, scenario: Scenario, groups: Mapping[str, str], known: Mapping[str, str]
) -> dict[str, str]:
    present = {entry["name"]: entry async for entry in administrator.everything("/v1/principals")}
    keys = dict(known)
    for person in scenario.people:
        principal = await _principal(administrator, person, groups, present.get(person.name))
        if person.name not in keys:
            body = {"principal_id": principal, "name": "demo"}
            keys[person.name] = (await administrator.post("/v1/api-keys", body))["api_key"]
    return keys


async def _principal(
    administrator: Api, person: Person, groups: Mapping[str, str], present: Mapping[str, Any] | None
) -> str:
    rights = {
        "clearance": person.clearance.value,
        "roles": sorted(person.roles),
        "groups": sorted(groups[name] for name in person.groups),
    }
    if present is None:
        body = {"kind": person.kind, "name": person.name, **rights}
        return str((await administrator.post("/v1/principals", body))["id"])
    had = {
        "clearance": present["clearance"],
        "roles": sorted(present["roles"]),
        "groups": sorted(present["groups"]),
    }
    if had != rights:
        await administrator.patch(f"/v1/principals/{present['id']}", rights)
    return str(present["id"])


async def _base(administrator: Api, scenario: Scenario) -> dict[str, Any]:
    async for base in administrator.everything("/v1/knowledge-bases"):
        if base["name"] == scenario.name:
            return base
    return await administrator.post(
        "/v1/knowledge-bases",
        {
            "name": scenario.name,
            "description": scenario.description,
            "classification": scenario.classification,
            "acl": [{"principal": "tenant:*", "permission": "read"}],
        },
    )
