"""What the chain says of texts: the same for the same text, and nothing that a guess could be tried with."""

import os
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

from eai.audit.fingerprints import fingerprint, text_key
from eai.kernel.ids import TenantId
from eai.platform.keys import MasterKey
from tests.api.test_review_routes import ORDER, documents, settled, submit
from tests.stack import Company, Stack

MASTER = b"m" * 32
SECRET = "The merger is on Monday."


def told(tenant: UUID, file: Path, master: bytes | None = MASTER) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eai.cli", "audit", "fingerprint", str(file), "--tenant", str(tenant)]
    environ = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ |= {"EAI_ENV": "test", "EAI_HOME": str(file.parent)}
    environ |= {} if master is None else {"EAI_MASTER_KEY": b64encode(master).decode()}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


async def test_a_chain_confirms_no_guess_at_a_text(stack: Stack, company: Company) -> None:
    base = await company.base("tenant:*")
    texts = [SECRET, f"{SECRET} Or later.", f"{SECRET} {ORDER}", f"{SECRET} Paid with 4111 1111 1111 1111."]
    replaced = (await submit(company.admin, base, texts[0]))["id"]
    answer = await company.admin.put(documents(base, replaced), json={"content": texts[1]})
    assert answer.status_code == 202
    await settled(company.admin, base, replaced, "2")
    assert (await submit(company.admin, base, texts[2]))["status"] == "quarantined"
    rules = {"dlp": {"payment_card": "block"}}
    assert (await company.admin.patch("/v1/settings", json=rules)).status_code == 200
    body = {"title": "A bill", "content": texts[3]}
    assert (await company.admin.post(documents(base), json=body)).status_code == 403

    export = (await company.admin.get("/v1/audit/export")).text
    digests = [sha256(text.encode()).digest() for text in texts]
    assert [digest.hex() in export for digest in digests] == [False] * 4
    key = text_key(stack.platform.keyring.master, TenantId(UUID(company.id)))
    # Where it came in, and then where it answered, was held or was refused.
    assert [export.count(fingerprint(key, digest)) for digest in digests] == [2, 2, 2, 2]


def test_a_file_is_compared_with_a_chain_without_a_database(tmp_path: Path) -> None:
    file, tenant, other = tmp_path / "text", uuid4(), uuid4()
    file.write_text(SECRET)
    result = told(tenant, file)
    digest = sha256(SECRET.encode()).digest()
    expected = fingerprint(text_key(MasterKey(MASTER), TenantId(tenant)), digest)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{expected}\n", "")
    assert (
        len({expected, told(other, file).stdout.strip(), told(tenant, file, b"x" * 32).stdout.strip()}) == 3
    )


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "text"
    gone = told(uuid4(), file)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert "cannot be read" in gone.stderr
    file.write_text(SECRET)
    unkeyed = told(uuid4(), file, master=None)
    assert (unkeyed.returncode, unkeyed.stdout) == (1, "")
    assert "EAI_MASTER_KEY is missing" in unkeyed.stderr
