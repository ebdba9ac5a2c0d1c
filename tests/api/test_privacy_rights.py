"""How high an erasure looks: no guess is answered about what the officer is not cleared for."""

import psycopg
import pytest

from tests.api.test_privacy_routes import ERASURES, MAIL, code_of, ended, erased, found, officer
from tests.api.test_review_routes import ORDER, settled
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually, somebody_waits
from tests.stack import Caller, Company, Json, Person, Stack

__all__ = ["officer"]

PARCELS = "Parcels leave at noon."


async def test_a_document_of_which_a_part_lies_above_the_clearance_is_not_searched(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    text = f"{PARCELS} Write to {MAIL}."
    high = {"start": text.index("Write"), "end": len(text), "classification": "secret"}
    await company.document(base, text, chunk_readers=[high])
    readable = {"start": 0, "end": 7, "classification": "confidential"}
    seen = await company.document(base, f"{text} Soon.", chunk_readers=[readable])
    erasure = await erased(officer, "find", MAIL)
    assert (erasure["documents_searched"], list(await found(officer, erasure))) == (1, [seen])
    cleared = await company.person("data_steward", clearance="secret")
    assert (await erased(cleared, "find", MAIL))["documents"] == {"found": 2}


@pytest.mark.parametrize(
    "forget",
    [
        "DELETE FROM eai.quarantine_holds WHERE tenant_id = %s",
        "UPDATE eai.kb_document_versions SET intended = '{}' WHERE tenant_id = %s",
    ],
)
async def test_a_text_that_came_or_was_held_above_the_clearance_is_not_searched(
    company: Company, officer: Person, stack_urls: DatabaseUrls, forget: str
) -> None:
    """Either tells of the level: what was to come with the text, and what it was held at."""
    base = await company.base()
    document = await company.document(base, PARCELS)
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    secret = {"content": f"{ORDER} Write to {MAIL}.", "classification": "secret"}
    assert (await company.admin.put(path, json=secret)).status_code == 202
    await settled(company.admin, base, document, "2")
    low = {"content": f"{PARCELS} Again.", "classification": "internal", "reason": "A public text."}
    assert (await company.admin.put(path, json=low)).status_code == 202
    await settled(company.admin, base, document, "3")
    review = {
        "version": "3",
        "decision": "release",
        "comment": "It follows one that was held, and is another text.",
    }
    cleared = await company.person("data_steward", clearance="secret")
    assert (await cleared.api.post(f"{path}/review", json=review)).status_code == 200
    await settled(company.admin, base, document, "3")
    assert (await company.admin.got(path))["classification"] == "internal"
    with psycopg.connect(stack_urls.admin) as admin:
        admin.execute(forget, [company.id])
    erasure = await erased(officer, "find", MAIL)
    assert (erasure["documents_searched"], erasure["documents"]) == (0, {})
    assert (await erased(cleared, "find", MAIL))["documents"] == {"found": 1}


async def test_a_level_that_was_lowered_since_its_text_answers_is_the_documents_own(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, PARCELS)
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    body = {"content": f"Write to {MAIL}.", "classification": "secret"}
    assert (await company.admin.put(path, json=body)).status_code == 202
    await settled(company.admin, base, document, "2")
    lower = {"classification": "internal", "reason": "Declassified."}
    assert (await company.admin.put(f"{path}/acl", json=lower)).status_code == 200
    assert (await erased(officer, "find", MAIL))["documents"] == {"found": 1}


async def test_a_document_that_is_raised_above_the_clearance_before_anything_follows_stays(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    document = await company.document(base, f"Write to {MAIL}.")
    body = {"action": "remove", "identifiers": [MAIL], "reason": "Case 17"}
    with psycopg.connect(stack_urls.admin) as raising:
        raising.execute("UPDATE eai.kb_documents SET classification = 4 WHERE id = %s", [document])
        made = await officer.api.made(ERASURES, body, status=202)
        await eventually(lambda: somebody_waits(stack_urls.admin))
    shown = await ended(officer, made["id"])
    assert (shown["documents_searched"], shown["documents"]) == (0, {})
    assert (await company.admin.get(f"/v1/knowledge-bases/{base}/documents/{document}")).status_code == 200


async def test_nobody_has_their_own_details_erased_by_what_they_made(
    company: Company, officer: Person
) -> None:
    """Whoever makes a principal, or a key, holds its secret."""
    maker = await company.person("tenant_admin", "data_steward", clearance="confidential")
    service: Json = {"kind": "service", "name": "robot", "roles": ["data_steward"]}
    body = {"action": "remove", "principal_id": maker.id, "reason": "Case 17"}
    for makes_principal, makes_key in ((maker.api, company.admin), (company.admin, maker.api)):
        made = await makes_principal.made(
            "/v1/principals", {**service, "name": f"robot {makes_key is maker.api}"}
        )
        key = (await makes_key.made("/v1/api-keys", {"principal_id": made["id"]}))["api_key"]
        answer = await officer.api.post(ERASURES, json=body, headers={"authorization": f"Bearer {key}"})
        assert code_of(answer) == (403, "self_erasure_forbidden")
    assert (await erased(officer, "remove", principal_id=maker.id))["audit_details_erased"] is True


async def test_nobody_has_their_own_details_erased_by_what_they_hold_a_secret_of(
    stack: Stack, company: Company, officer: Person
) -> None:
    """Another's key that they rotated, what theirs has made in turn, and with theirs deleted."""
    maker = await company.person("tenant_admin", "data_steward", clearance="confidential")
    service: Json = {"kind": "service", "roles": ["tenant_admin", "data_steward"]}
    body = {"action": "remove", "principal_id": maker.id, "reason": "Case 17"}

    async def made(by: Caller, name: str) -> tuple[str, Json]:
        robot = (await by.made("/v1/principals", {**service, "name": name}))["id"]
        return robot, await by.made("/v1/api-keys", {"principal_id": robot})

    _, key = await made(company.admin, "another's")
    rotated = await maker.api.made(f"/v1/api-keys/{key['id']}/rotate", {}, status=200)
    robot, first = await made(maker.api, "first")
    _, second = await made(stack.caller(first["api_key"]), "second")
    _, third = await made(stack.caller(second["api_key"]), "third")
    founder = (await company.admin.got("/v1/me"))["principal"]["id"]
    of_founder = await stack.caller(third["api_key"]).post(ERASURES, json={**body, "principal_id": founder})
    assert code_of(of_founder) == (403, "self_erasure_forbidden")
    assert (await company.admin.delete(f"/v1/principals/{robot}")).status_code == 204
    for each in (rotated, second, third):
        answer = await stack.caller(each["api_key"]).post(ERASURES, json=body)
        assert code_of(answer) == (403, "self_erasure_forbidden")
    assert (await erased(officer, "remove", principal_id=maker.id))["audit_details_erased"] is True
