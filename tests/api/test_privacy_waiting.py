"""What a text that has yet to answer would bring names the person no more once that was redacted."""

from typing import Any

from tests.api.test_privacy_routes import BLOCK, MAIL, NAME, erased, found, officer
from tests.api.test_review_routes import ORDER, settled
from tests.stack import Company, Json, Person

__all__ = ["officer"]

PARCELS = "Parcels leave at noon."


async def held_behind(company: Company, base: str, content: str, answering: str, **fields: Any) -> str:
    """The path of a document that answers, with a text behind it that is held and brings these fields."""
    document = await company.document(base, answering)
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    body = {"content": f"{content} {ORDER}", **fields}
    assert (await company.admin.put(path, json=body)).status_code == 202
    await settled(company.admin, base, document, "2")
    return path


async def review(company: Company, path: str, decision: str, version: str = "2") -> Json:
    steward = await company.person("data_steward", clearance="confidential")
    body = {"version": version, "decision": decision, "comment": "Looked at."}
    assert (await steward.api.post(f"{path}/review", json=body)).status_code == 200
    base, document = path.split("/")[3], path.split("/")[5]
    return await settled(company.admin, base, document)


async def test_the_fields_of_a_text_that_is_held_are_redacted(company: Company, officer: Person) -> None:
    base = await company.base()
    fields = {
        "title": f"By {NAME}",
        "metadata": {"author": NAME, "pages": 3},
        "source_uri": f"https://example.org/{MAIL}",
    }
    path = await held_behind(company, base, "Letters leave at six.", PARCELS, **fields)
    assert (await erased(officer, "redact", NAME, MAIL))["documents"] == {"redacted": 1}
    assert (await erased(officer, "find", NAME, MAIL))["documents"] == {}
    shown = await review(company, path, "release")
    assert (shown["version"], shown["title"]) == ("2", f"By {BLOCK * len(NAME)}")
    assert (shown["metadata"], shown["source_uri"]) == ({"author": BLOCK * len(NAME), "pages": 3}, None)


async def test_what_a_rejected_text_would_have_brought_comes_redacted_with_the_new_text(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    path = await held_behind(company, base, "Letters.", f"{PARCELS} {NAME} came.", title=f"By {NAME}")
    await review(company, path, "reject")
    # A text that follows one that was held is held.
    assert (await erased(officer, "redact", NAME))["documents"] == {"failed": 1}
    shown = await review(company, path, "release", "3")
    assert (shown["version"], shown["title"]) == ("3", f"By {BLOCK * len(NAME)}")


async def test_a_title_that_is_to_come_is_not_replaced_by_the_one_that_names_the_person(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, f"{PARCELS} {NAME} came.", title=f"By {NAME}")
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    body = {"content": f"Letters. {ORDER}", "title": "By nobody"}
    assert (await company.admin.put(path, json=body)).status_code == 202
    await settled(company.admin, base, document, "2")
    await review(company, path, "reject")
    assert (await erased(officer, "redact", NAME))["documents"] == {"failed": 1}
    shown = await review(company, path, "release", "3")
    assert (shown["version"], shown["title"]) == ("3", "By nobody")


async def test_fields_that_answer_with_their_text_are_redacted(company: Company, officer: Person) -> None:
    base = await company.base()
    document = await company.document(base, PARCELS)
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    body = {"content": "Letters leave at six.", "title": f"By {NAME}"}
    assert (await company.admin.put(path, json=body)).status_code == 202
    await settled(company.admin, base, document, "2")
    assert (await erased(officer, "redact", NAME))["documents"] == {"redacted": 1}
    shown = await company.admin.got(path)
    assert (shown["version"], shown["title"]) == ("2", f"By {BLOCK * len(NAME)}")


async def test_labels_that_are_to_come_cannot_be_redacted(company: Company, officer: Person) -> None:
    base = await company.base()
    labels = {"project": "jeanne-morel"}
    path = await held_behind(company, base, "Letters leave at six.", PARCELS, labels=labels)
    (told,) = (await found(officer, await erased(officer, "redact", "jeanne-morel"))).values()
    assert (told["places"], told["outcome"], told["code"]) == (["labels"], "failed", "not_redactable")
    assert (await company.admin.got(path))["labels"] == {}
