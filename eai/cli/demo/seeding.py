"""Puts a scenario into a running instance, over its API; what is there already is taken as it is."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eai.cli.demo.api import Api, DemoFailed, Refused
from eai.cli.demo.scenario import Person, Scenario, Source

_UPLOADS_AT_ONCE = 4
_READY_WITHIN_S = 120.0
_POLL_S = 0.2

Progress = Callable[[int, int], None]
"""Called with how many documents are done, and how many there are."""


def unwatched(done: int, total: int) -> None:
    """Progress that nobody looks at."""
    del done, total


@dataclass(slots=True)
class Seeded:
    """What an instance now holds. `keys` are those of people, by name."""

    base: str
    alias: str
    embedding_model: str
    keys: Mapping[str, str]
    documents: dict[str, Source] = field(default_factory=dict)
    passages: int = 0
    left_out: list[str] = field(default_factory=list)


async def seed(
    administrator: Api,
    scenario: Scenario,
    *,
    known_keys: Mapping[str, str] | None = None,
    progress: Progress = unwatched,
) -> Seeded:
    """Make the groups, the people with their keys, the base, and take the documents in.

    May be repeated: groups, people and the base are found by name, an unchanged document is not stored
    twice. People in `known_keys` keep the key they have. Raises DemoFailed.
    """
    groups = await _groups(administrator, scenario)
    keys = await _keys(administrator, scenario, groups, known_keys or {})
    base = await _base(administrator, scenario)
    seeded = Seeded(base["id"], base["alias"], base["embedding_model"], keys)
    await _take_in(administrator, scenario, groups, seeded, progress)
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
    present = {entry["name"]: entry["id"] async for entry in administrator.everything("/v1/principals")}
    keys = dict(known)
    for person in scenario.people:
        principal = present.get(person.name) or await _principal(administrator, person, groups)
        if person.name not in keys:
            body = {"principal_id": principal, "name": "demo"}
            keys[person.name] = (await administrator.post("/v1/api-keys", body))["api_key"]
    return keys


async def _principal(administrator: Api, person: Person, groups: Mapping[str, str]) -> str:
    body = {
        "kind": person.kind,
        "name": person.name,
        "clearance": person.clearance,
        "roles": person.roles,
        "groups": [groups[name] for name in person.groups],
    }
    return str((await administrator.post("/v1/principals", body))["id"])


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


async def _take_in(
    administrator: Api, scenario: Scenario, groups: Mapping[str, str], seeded: Seeded, progress: Progress
) -> None:
    waiting = iter(scenario.sources)
    done, total = 0, len(scenario.sources)

    async def upload_the_rest() -> None:
        nonlocal done
        for source in waiting:
            await _upload(administrator, source, groups, seeded)
            done += 1
            progress(done, total)

    progress(0, total)
    try:
        async with asyncio.TaskGroup() as uploads:
            for _ in range(_UPLOADS_AT_ONCE):
                uploads.create_task(upload_the_rest())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _upload(administrator: Api, source: Source, groups: Mapping[str, str], seeded: Seeded) -> None:
    try:
        document = await administrator.post(
            f"/v1/knowledge-bases/{seeded.base}/documents", _body(source, groups)
        )
        if document["status"] != "ready":
            document = await _ready(administrator, seeded.base, document["id"])
    except Refused as refusal:
        if refusal.status not in _ABOUT_THE_DOCUMENT:
            raise
        is_copy = refusal.code == "duplicate_content"
        reason = "another document has the same text" if is_copy else refusal.message
        seeded.left_out.append(f"{source.file}: {reason}")
        return
    seeded.documents[document["id"]] = source
    seeded.passages += document["chunks_count"]


_ABOUT_THE_DOCUMENT = frozenset({409, 413, 415, 422})


def _body(source: Source, groups: Mapping[str, str]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "title": source.title,
        "content": source.content,
        "content_type": source.content_type,
        "metadata": {"file": source.file},
    }
    if source.own_level is not None:
        body["classification"] = source.own_level
    if source.readers is not None:
        body["readers"] = [f"group:{groups[name]}" for name in source.readers]
    if source.language is not None:
        body["language"] = source.language
    return body


async def _ready(administrator: Api, base: str, document: str) -> dict[str, Any]:
    """The document once it can be found; a text that takes long is finished by a worker."""
    try:
        async with asyncio.timeout(_READY_WITHIN_S):
            while True:
                found = await administrator.get(f"/v1/knowledge-bases/{base}/documents/{document}")
                if found["status"] == "ready":
                    return found
                if found["status"] not in {"pending", "processing"}:
                    raise DemoFailed(f"{found['title']} is {found['status']}: {found['error']}")
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise DemoFailed(f"document {document} was not ready within {_READY_WITHIN_S:g} s") from None
