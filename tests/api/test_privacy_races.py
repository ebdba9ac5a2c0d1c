"""An erasure among others who change the same documents."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from eai.dlp.ports import DlpRules, Verdict
from eai.dlp.scanner import PatternScanner
from eai.privacy import erasing
from eai.privacy.outcomes import Look, Task
from eai.privacy.text_rows import DocumentState
from eai.privacy.texts import Texts
from tests.api import test_reindex_routes as reindexes
from tests.api.test_privacy_remains import everything_of, holding
from tests.api.test_privacy_routes import BLOCK, NAME, erased, found, officer, replace
from tests.conftest import DatabaseUrls
from tests.stack import Company, Person

__all__ = ["officer"]

Deed = Callable[[Company, str, str], Awaitable[None]]


async def hold(company: Company, base: str, document: str) -> None:
    body = {"knowledge_base_id": base, "document_id": document, "reason": "A court asks for it."}
    await company.admin.made("/v1/retention/holds", body)


async def delete(company: Company, base: str, document: str) -> None:
    answer = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{document}")
    assert answer.status_code == 200, answer.text


async def bring_back(company: Company, base: str, document: str) -> None:
    await replace(company, base, document, f"{NAME} came by again.")


async def rename(company: Company, base: str, document: str) -> None:
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    assert (await company.admin.patch(path, json={"title": f"Of {NAME}"})).status_code == 200


@pytest.mark.parametrize(
    ("deed", "outcome", "left"),
    [
        (hold, ("held", "under_legal_hold"), {"found": 1}),
        (delete, ("removed", None), {}),
        (bring_back, ("failed", "found_again"), {"found": 1}),
        (rename, ("failed", "found_again"), {"found": 1}),
    ],
)
async def test_what_others_do_before_the_former_texts_go_is_told(  # noqa: PLR0917 - what is done, and follows
    company: Company,
    officer: Person,
    monkeypatch: pytest.MonkeyPatch,
    deed: Deed,
    outcome: tuple[str, str | None],
    left: dict[str, int],
) -> None:
    base = await company.base()
    document = await company.document(base, f"{NAME} came by.")
    look_again, looks = erasing.look_again, 0

    async def disturbed(texts: Texts, task: Task, state: DocumentState) -> Look:
        nonlocal looks
        looks += 1
        look = await look_again(texts, task, state)
        if looks == 1:
            await deed(company, base, document)
        return look

    monkeypatch.setattr(erasing, "look_again", disturbed)
    told = (await found(officer, await erased(officer, "redact", NAME)))[document]
    assert (told["outcome"], told["code"]) == outcome
    assert (await erased(officer, "find", NAME))["documents"] == left


async def test_a_hold_that_comes_before_the_text_without_the_person_answers_keeps_all_that_was_there(
    company: Company, officer: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await company.base()
    document = await company.document(base, f"{NAME} came by.", title=f"Of {NAME}")
    scan, is_held = PatternScanner.scan, False

    async def disturbed(scanner: PatternScanner, texts: Sequence[str], rules: DlpRules) -> Verdict:
        nonlocal is_held
        if not is_held:
            is_held = True
            await hold(company, base, document)
        return await scan(scanner, texts, rules)

    monkeypatch.setattr(PatternScanner, "scan", disturbed)
    told = (await found(officer, await erased(officer, "redact", NAME)))[document]
    assert (told["outcome"], told["code"]) == ("held", "under_legal_hold")
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}/documents/{document}")
    assert (shown["title"], shown["version"]) == (f"Of {NAME}", "1")
    assert shown["pending_version"]["error"]["code"] == "under_legal_hold"


async def test_a_generation_to_go_back_to_holds_nothing_of_the_person(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    await company.document(base, f"{NAME} came by for refunds.")
    job = await reindexes.reindex(company, base)
    assert (await reindexes.ended(company.admin, base, job))["status"] == "completed"
    assert (await erased(officer, "redact", NAME))["documents"] == {"redacted": 1}
    assert holding(stack_urls, company.id, *everything_of()) == set()
    path = f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}/rollback"
    answer = await company.admin.post(path)
    assert answer.status_code == 202, answer.text
    back = await reindexes.ended(company.admin, base, answer.json())
    assert (back["status"], back["rollback_of"]) == ("completed", job["job_id"])
    asked = await company.admin.made(f"/v1/knowledge-bases/{base}/query", {"query": "refunds"}, status=200)
    assert [hit["content"] for hit in asked["results"]] == [f"{BLOCK * len(NAME)} came by for refunds."]
