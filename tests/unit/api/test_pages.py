import re

import pytest

from eai.api.v1 import health
from eai.platform.i18n import messages
from tests.fakes.platform import Plumbing, operator, subject


@pytest.fixture
def plumbing() -> Plumbing:
    return Plumbing(health.router)


async def test_the_api_page_fetches_nothing_from_elsewhere(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        page = await client.get("/docs")
        parts = [
            await client.get(path) for path in re.findall(r'(?:src|href)="(/docs/docs\.\w+)"', page.text)
        ]
    assert [part.status_code for part in parts] == [200, 200]
    assert "script-src 'self'" in page.headers["content-security-policy"]
    for text in (page.text, *(part.text for part in parts)):
        assert "http://" not in text
        assert "https://" not in text


async def test_every_error_code_has_a_page(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        for code in messages():
            answer = await client.get(f"/docs/errors/{code}", headers={"accept-language": "fr"})
            assert answer.status_code == 200
            assert code in answer.text
        french = await client.get("/docs/errors/not_found", headers={"accept-language": "fr"})
        unknown = await client.get("/docs/errors/<script>")
    assert '<html lang="fr">' in french.text
    assert "Vérifiez" in french.text
    assert (unknown.status_code, unknown.headers["content-type"]) == (404, "application/problem+json")


async def test_readiness_names_what_does_not_answer(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        ready = await client.get("/readyz")
        plumbing.vectors.fails_at_commit = True
        not_ready = await client.get("/readyz")
        alive = await client.get("/healthz")
    nobody_works = {"quick": "missing", "ingestion": "missing", "maintenance": "missing"}
    assert ready.json() == {
        "status": "ready",
        "dependencies": {"database": "ok", "vector_store": "ok"},
        "workers": nobody_works,
    }
    assert not_ready.status_code == 503
    assert not_ready.json() == {
        "status": "unavailable",
        "dependencies": {"database": "ok", "vector_store": "unavailable"},
        "workers": nobody_works,
    }
    assert not_ready.headers["retry-after"] == "5"
    assert alive.status_code == 200


async def test_jobs_that_nobody_takes_are_named_and_requests_are_answered_without(plumbing: Plumbing) -> None:
    async with plumbing.client(address="127.0.0.1") as client:
        plumbing.database.working = {"quick": 2, "maintenance": 1}
        ready = await client.get("/readyz")
        told = (await client.get("/metrics")).text
        plumbing.database.fails_at_commit = True
        unknown = await client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["workers"] == {"quick": "ok", "ingestion": "missing", "maintenance": "ok"}
    assert [line for line in told.splitlines() if line.startswith("eai_worker_processes{")] == [
        'eai_worker_processes{group="quick"} 2.0',
        'eai_worker_processes{group="ingestion"} 0.0',
        'eai_worker_processes{group="maintenance"} 1.0',
    ]
    assert unknown.json()["workers"] == {"quick": "unknown", "ingestion": "unknown", "maintenance": "unknown"}


async def test_metrics_are_for_this_machine_or_an_operator(plumbing: Plumbing) -> None:
    async with plumbing.client(address="127.0.0.1") as local:
        assert (await local.get("/metrics")).status_code == 200
        assert (await local.get("/metrics", headers={"x-forwarded-for": "203.0.113.9"})).status_code == 401
    async with plumbing.client(address="192.0.2.1") as remote:
        assert (await remote.get("/metrics")).status_code == 401
    async with plumbing.client(subject(), address="192.0.2.1") as tenant:
        assert (await tenant.get("/metrics")).status_code == 403
    async with plumbing.client(operator(), address="192.0.2.1") as allowed:
        assert "eai_http_requests_total" in (await allowed.get("/metrics")).text
