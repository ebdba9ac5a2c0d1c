"""Each thing that can be wrong, and the mend that doctor names for it."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from eai.cli.doctor import examine
from eai.cli.finding import Finding
from eai.cli.stored_findings import _agreement
from eai.integrations.home import HomeFolder
from eai.integrity.models import IntegrityReport
from tests.fakes.recorder import Answer, recording

MASTER_KEY = "bWFzdGVyIGtleSBvZiB0aGlydHktdHdvIGJ5dGVzISE="
NOTHING_LISTENS = "postgresql://eai_app:pw@127.0.0.1:1/eai"


@pytest.fixture
def home(tmp_path: Path) -> HomeFolder:
    folder = HomeFolder(tmp_path / "home")
    folder.prepare()
    return folder


async def found(home: HomeFolder, **environ: str) -> dict[str, Finding]:
    return {finding.name: finding for finding in await examine(environ, home.path)}


async def test_every_fault_of_the_settings_is_a_finding(home: HomeFolder) -> None:
    findings = await examine({"EAI_ENV": "staging", "EAI_NO": "1"}, home.path)
    assert [(finding.name, finding.ok) for finding in findings] == [("settings", False)] * 2
    assert "docs/reference/settings.md" in str(findings[0].mend)


async def test_where_nothing_says_that_this_is_for_development_the_way_to_say_it_is_named(
    home: HomeFolder,
) -> None:
    findings = await examine({"EAI_HOME": str(home.path)}, None)
    assert "EAI_DATABASE_URL is required in production" in findings[0].says
    assert str(findings[0].mend).endswith("name the home, `eai doctor --home DIR`")


async def test_without_anything_running_each_dependency_says_how_to_get_it(home: HomeFolder) -> None:
    findings = await found(home)
    wrong = {name: finding.mend for name, finding in findings.items() if not finding.ok}
    start = f"start `eai up --home {home.path}`"
    assert wrong == {
        "database": f"{start}, or set EAI_DATABASE_URL",
        "database role": f"{start}, or set EAI_DATABASE_URL",
        "schema": f"{start}, or set EAI_DATABASE_URL",
        "engine": f"{start}; its log is logs/engine.log in the home",
        "master key": "start `eai up` once, or set EAI_MASTER_KEY",
        "workers": f"{start}, or set EAI_DATABASE_URL",
        "stored data": f"{start}, or set EAI_DATABASE_URL",
        "kill switches": f"{start}, or set EAI_DATABASE_URL",
    }


async def test_a_database_that_refuses_is_shown_with_its_own_words_and_without_its_password(
    home: HomeFolder,
) -> None:
    findings = await found(home, EAI_DATABASE_URL=NOTHING_LISTENS, EAI_MASTER_KEY=MASTER_KEY)
    assert "Connection refused" in findings["database"].says
    assert findings["database role"].mend == "the database must answer first"
    assert (findings["schema"].ok, findings["schema"].mend) == (False, "the database must answer first")
    assert findings["stored data"].mend == "the database must answer first"
    assert not any("pw" in f"{finding.says} {finding.mend}" for finding in findings.values())


@pytest.mark.parametrize(
    ("key", "says"),
    [("c2hvcnQ=", "the master key must hold at least 32 bytes"), ("no key", "the master key is not base64")],
)
async def test_a_master_key_of_the_wrong_form(home: HomeFolder, key: str, says: str) -> None:
    finding = (await found(home, EAI_MASTER_KEY=key))["master key"]
    assert (finding.ok, finding.says) == (False, says)
    assert str(finding.mend).endswith("openssl rand -base64 32")


async def test_a_secret_that_others_may_read(home: HomeFolder) -> None:
    path = home.secrets / "master-key"
    path.touch(mode=0o644)
    finding = (await found(home))["home"]
    assert (finding.ok, finding.mend) == (False, f"chmod go-rwx {path}")


async def test_a_folder_where_eai_never_ran(tmp_path: Path) -> None:
    finding = (await found(HomeFolder(tmp_path / "never")))["home"]
    assert (finding.ok, finding.mend) == (False, "start `eai up` once")


async def test_an_anchor_below_a_file(home: HomeFolder) -> None:
    (home.path / "file").touch()
    path = home.path / "file" / "checkpoints.jsonl"
    finding = (await found(home, EAI_AUDIT_ANCHOR_PATH=str(path)))["audit anchor"]
    assert (finding.ok, finding.says) == (False, f"{path} cannot exist")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_an_anchor_that_may_not_be_written(home: HomeFolder) -> None:
    finding = (await found(home, EAI_AUDIT_ANCHOR_PATH="/proc/anchor"))["audit anchor"]
    assert (finding.ok, finding.says) == (False, "/proc/anchor cannot be written")


async def test_a_model_that_nobody_ships(home: HomeFolder) -> None:
    finding = (await found(home, EAI_RAG_EMBEDDING_MODEL="ada-002"))["models"]
    assert (finding.ok, finding.says) == (False, "ada-002 is not known")
    names = "bge-m3-vllm, local-e5-384, local-hash-256, local-use-512, text-embedding-3-small"
    assert finding.mend == f"name one of {names} in EAI_RAG_EMBEDDING_MODEL"


async def test_a_model_that_cannot_be_the_one_of_bases(home: HomeFolder) -> None:
    finding = (await found(home, EAI_RAG_EMBEDDING_MODEL="rerank-v3.5"))["models"]
    assert (finding.ok, finding.says) == (False, "rerank-v3.5 is not known")


@pytest.mark.parametrize(
    ("answer", "ok", "says"),
    [
        (Answer({"result": {"allow": False}}), True, "answers"),
        (Answer({}, status=503), False, "does not answer"),
    ],
)
async def test_a_policy_engine_beside_the_product(
    home: HomeFolder, answer: Answer, *, ok: bool, says: str
) -> None:
    async with recording(lambda _: answer) as opa:
        finding = (await found(home, EAI_OPA_URL=opa.url))["policies"]
    assert (finding.ok, finding.says) == (ok, f"{opa.url} {says}")
    assert (finding.mend is None) is ok


async def test_a_policy_engine_that_nobody_runs(home: HomeFolder) -> None:
    finding = (await found(home, EAI_OPA_URL="http://127.0.0.1:1"))["policies"]
    assert (finding.ok, finding.says) == (False, "http://127.0.0.1:1 does not answer")
    assert finding.mend == "start it, or correct EAI_OPA_URL; until then no model is called"


async def test_a_cache_that_does_not_answer_is_told_without_its_password(home: HomeFolder) -> None:
    finding = (await found(home, EAI_REDIS_URL="redis://:secret@127.0.0.1:1/0"))["cache"]
    assert (finding.ok, finding.says) == (False, "Redis does not answer")
    assert finding.mend == "start it, or correct EAI_REDIS_URL; until then every question is searched for"
    assert (await found(home))["cache"].says == "64 MB in each API process"


async def test_what_the_last_examinations_found_is_told_with_the_way_to_mend_it() -> None:
    at = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    clean = IntegrityReport(checked_at=at, findings=[])
    broken = IntegrityReport(checked_at=at + timedelta(hours=1), findings=[{"kind": "point_missing"}])
    says = "2 of 3 tenants examined, none longer ago than 2026-01-02 03:04 UTC"
    assert _agreement([], 3).says == "not examined yet; `eai fsck` does"
    assert (_agreement([clean], 1).ok, _agreement([clean, broken], 3).ok) == (True, False)
    assert _agreement([clean, broken], 3).says == f"{says}; found point_missing"
    assert "eai fsck --repair" in str(_agreement([broken], 1).mend)
