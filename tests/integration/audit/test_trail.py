"""The verdict on a chain in the database, and its export: what a superuser did is found, or not."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import psycopg
import pytest

from eai.audit.chain import GENESIS, body_digest, link
from eai.audit.checkpoint import SignedCheckpoint
from eai.audit.details import Details
from eai.audit.jobs import Checkpointing
from eai.audit.offline import verify_export
from eai.audit.repository import AuditRows
from eai.audit.scan import Fault, Reason
from eai.audit.signing import Signing
from eai.audit.trail import AuditTrail
from eai.audit.verification import Report
from eai.integrations.anchor import FileAnchor, read_anchor
from eai.kernel.canonical import canonical
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.conftest import DatabaseUrls
from tests.integration.audit.conftest import Ledger, MovableClock, Superuser, read_of


@pytest.fixture
async def signed(ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock) -> Ledger:
    """Twelve entries, with anchored checkpoints after 4 and 8."""
    for _ in range(2):
        await ledger.grow(4)
        clock.advance(60)
        await checkpointing.issue_for([ledger.tenant])
    await ledger.grow(4)
    return ledger


@dataclass(frozen=True, slots=True)
class Forger:
    """A superuser who knows how hashes are computed, and who also removes the checkpoints in the way."""

    superuser: Superuser
    tenant: TenantId

    def execute(self, *statements: str, **parameters: object) -> None:
        self.superuser.execute(*statements, tenant=self.tenant, **parameters)

    def set_head_to(self, seq: int) -> None:
        self.execute(
            "UPDATE eai.audit_heads h SET seq = e.seq, hash = e.hash FROM eai.audit_events e"
            " WHERE h.tenant_id = %(tenant)s AND e.tenant_id = h.tenant_id AND e.seq = %(seq)s",
            seq=seq,
        )

    def forget_checkpoints(self, after: int) -> None:
        self.execute(
            "DELETE FROM eai.audit_checkpoints WHERE tenant_id = %(tenant)s AND seq > %(seq)s", seq=after
        )

    def cut_after(self, seq: int) -> None:
        self.execute("DELETE FROM eai.audit_events WHERE tenant_id = %(tenant)s AND seq > %(seq)s", seq=seq)
        self.set_head_to(seq)
        self.forget_checkpoints(seq)

    def rewrite(self, seq: int) -> None:
        """Make one entry say something else, and compute every hash from there on anew."""
        rows = self.superuser.execute(
            "SELECT seq, body FROM eai.audit_events WHERE tenant_id = %(tenant)s ORDER BY seq",
            tenant=self.tenant,
        )
        previous = GENESIS
        for place, stored in rows:
            assert isinstance(place, int)
            body = bytes(stored)  # type: ignore[call-overload]
            if place == seq:
                body = canonical(orjson.loads(body) | {"decision": "deny"})
            previous = link(previous, place, body_digest(body))
            self.execute(
                "UPDATE eai.audit_events SET body = %(body)s, hash = %(hash)s,"
                " decision = convert_from(%(body)s, 'UTF8')::jsonb ->> 'decision'"
                " WHERE tenant_id = %(tenant)s AND seq = %(seq)s",
                body=body,
                hash=previous,
                seq=place,
            )
        self.set_head_to(len(rows))
        self.forget_checkpoints(0)


@pytest.fixture
def forger(superuser: Superuser, tenant: TenantId) -> Forger:
    return Forger(superuser, tenant)


def lose(anchor_path: Path) -> None:
    anchor_path.unlink()


async def verdict(ledger: Ledger) -> tuple[int | None, int | None, Reason | None]:
    report = await ledger.verify()
    assert report.valid is (report.reason is None)
    return report.first_bad_seq, report.bad_until, report.reason


class TestVerdict:
    async def test_an_untouched_chain_is_valid(self, signed: Ledger) -> None:
        report = await signed.verify()
        assert (report.valid, report.events, report.head.seq) == (True, 12, 12)
        assert report.head.hash == (await signed.hashes())[-1].hex()
        # Two in the database, and the same two from the anchor.
        assert (report.checkpoints, report.anchored_seq) == (4, 8)
        assert report.unanchored_since == (await signed.checkpoints())[-1].signed.checkpoint.issued_at

    async def test_a_chain_that_was_never_begun_is_valid(self, ledger: Ledger) -> None:
        report = await ledger.verify()
        assert (report.valid, report.events, report.head.seq, report.unanchored_since) == (True, 0, 0, None)

    async def test_a_changed_column_is_named(self, signed: Ledger, forger: Forger) -> None:
        forger.execute(
            "UPDATE eai.audit_events SET actor_principal = NULL WHERE tenant_id = %(tenant)s AND seq = 6"
        )
        assert await verdict(signed) == (6, None, Reason.COLUMNS_DIFFER)

    async def test_a_changed_instant_is_named(self, signed: Ledger, forger: Forger) -> None:
        forger.execute(
            "UPDATE eai.audit_events SET occurred_at = occurred_at - interval '1 microsecond'"
            " WHERE tenant_id = %(tenant)s AND seq = 6"
        )
        assert await verdict(signed) == (6, None, Reason.COLUMNS_DIFFER)

    async def test_a_changed_body_is_named(self, signed: Ledger, forger: Forger) -> None:
        forger.execute(
            "UPDATE eai.audit_events SET body = set_byte(body, 20, 0)"
            " WHERE tenant_id = %(tenant)s AND seq = 6"
        )
        assert await verdict(signed) == (6, None, Reason.HASH_MISMATCH)

    async def test_a_deleted_entry_is_named(self, signed: Ledger, forger: Forger) -> None:
        forger.execute("DELETE FROM eai.audit_events WHERE tenant_id = %(tenant)s AND seq = 6")
        assert await verdict(signed) == (6, None, Reason.GAP)

    async def test_a_deleted_tail_whose_head_was_forgotten_is_named(
        self, signed: Ledger, forger: Forger
    ) -> None:
        forger.execute("DELETE FROM eai.audit_events WHERE tenant_id = %(tenant)s AND seq > 10")
        assert await verdict(signed) == (11, 12, Reason.TAIL_MISSING)

    async def test_a_head_that_was_set_back_is_named(self, signed: Ledger, forger: Forger) -> None:
        forger.set_head_to(10)
        assert await verdict(signed) == (11, None, Reason.HEAD_MISMATCH)

    async def test_a_forged_checkpoint_is_named(self, signed: Ledger, forger: Forger) -> None:
        forger.execute(
            "UPDATE eai.audit_checkpoints SET signature = decode(repeat('00', 64), 'hex')"
            " WHERE tenant_id = %(tenant)s AND seq = 4"
        )
        assert await verdict(signed) == (4, None, Reason.SIGNATURE_INVALID)

    async def test_a_cut_tail_is_found_up_to_the_last_anchored_checkpoint(
        self, signed: Ledger, forger: Forger
    ) -> None:
        forger.cut_after(6)
        assert await verdict(signed) == (7, 8, Reason.TAIL_MISSING)

    async def test_a_cut_tail_after_it_is_not_found(self, signed: Ledger, forger: Forger) -> None:
        forger.cut_after(9)
        assert await verdict(signed) == (None, None, None)

    async def test_a_cut_tail_is_not_found_without_the_anchor(
        self, signed: Ledger, forger: Forger, anchor_path: Path
    ) -> None:
        lose(anchor_path)
        forger.cut_after(6)
        assert await verdict(signed) == (None, None, None)

    async def test_a_rewritten_chain_is_found_up_to_the_last_anchored_checkpoint(
        self, signed: Ledger, forger: Forger
    ) -> None:
        forger.rewrite(7)
        assert await verdict(signed) == (5, 8, Reason.ROOT_MISMATCH)

    async def test_a_chain_rewritten_after_it_is_not_found(self, signed: Ledger, forger: Forger) -> None:
        forger.rewrite(9)
        assert await verdict(signed) == (None, None, None)

    async def test_a_rewritten_chain_is_not_found_without_the_anchor(
        self, signed: Ledger, forger: Forger, anchor_path: Path
    ) -> None:
        lose(anchor_path)
        forger.rewrite(2)
        assert await verdict(signed) == (None, None, None)

    async def test_a_restored_backup_older_than_the_anchor_is_found(
        self, signed: Ledger, forger: Forger
    ) -> None:
        forger.cut_after(6)
        await signed.grow(8)
        assert await verdict(signed) == (5, 8, Reason.ROOT_MISMATCH)


class TestExport:
    async def check(self, ledger: Ledger, file: Path, anchor_path: Path, after_seq: int = 0) -> Report:
        file.write_bytes(await ledger.export(after_seq))
        return verify_export(file, anchored=lambda tenant: read_anchor(anchor_path, tenant), processes=1)

    async def test_it_verifies_far_from_the_database(
        self, signed: Ledger, tmp_path: Path, anchor_path: Path
    ) -> None:
        report = await self.check(signed, tmp_path / "export.jsonl", anchor_path)
        assert (report.valid, report.tenant, report.events) == (True, signed.tenant, 12)
        assert (report.checkpoints, report.anchored_seq) == (4, 8)

    async def test_it_can_begin_after_a_checkpoint(
        self, signed: Ledger, tmp_path: Path, anchor_path: Path
    ) -> None:
        report = await self.check(signed, tmp_path / "export.jsonl", anchor_path, after_seq=7)
        assert (report.valid, report.events, report.head.seq) == (True, 8, 12)

    async def test_what_a_superuser_changed_is_named_there_as_well(
        self, signed: Ledger, forger: Forger, tmp_path: Path, anchor_path: Path
    ) -> None:
        forger.rewrite(7)
        report = await self.check(signed, tmp_path / "export.jsonl", anchor_path)
        assert report.fault == Fault(5, Reason.ROOT_MISMATCH, 8)

    async def test_it_holds_nothing_of_another_tenant(
        self, signed: Ledger, other_tenant: TenantId, superuser: Superuser
    ) -> None:
        """Attack line 96."""
        await signed.audit.flush(read_of(other_tenant, query="theirs"))
        exported = await signed.export()
        assert str(other_tenant).encode() not in exported
        ((theirs,),) = superuser.execute(
            "SELECT hash FROM eai.audit_events WHERE tenant_id = %(tenant)s AND seq = 1", tenant=other_tenant
        )
        assert bytes(theirs).hex().encode() not in exported  # type: ignore[call-overload]

    async def test_a_reader_that_stalls_holds_no_connection(
        self, signed: Ledger, database_urls: DatabaseUrls
    ) -> None:
        narrow = Database(database_urls.app, pool_size=1, checkout_timeout_s=0.2)
        seen = []
        async for piece in signed.trail.export(narrow, signed.tenant):
            seen.append(piece)
            async with narrow.transaction(signed.tenant) as somebody_elses:
                assert await AuditRows(somebody_elses, signed.tenant).events(0, None, 1)
        await narrow.close()
        assert b"".join(seen).count(b"\n") == len((await signed.export()).splitlines())


async def test_an_anchor_that_stalls_holds_no_connection(  # noqa: PLR0917 - all that a trail is made of
    signed: Ledger,
    database_urls: DatabaseUrls,
    details: Details,
    signing: Signing,
    clock: MovableClock,
    anchor_path: Path,
) -> None:
    narrow = Database(database_urls.app, pool_size=1, checkout_timeout_s=0.2)

    class Asking(FileAnchor):
        """Needs the only connection for as long as it is asked."""

        async def history(self, tenant: TenantId) -> AsyncIterator[SignedCheckpoint]:
            async for checkpoint in super().history(tenant):
                async with narrow.transaction(tenant) as somebody_elses:
                    assert await AuditRows(somebody_elses, tenant).events(0, None, 1)
                yield checkpoint

    report = await AuditTrail(details, signing, Asking(anchor_path), clock).verify(narrow, signed.tenant)
    await narrow.close()
    assert report == await signed.verify()


async def test_checkpoints_are_listed_as_they_were_signed(signed: Ledger) -> None:
    async with signed.database.transaction(signed.tenant) as session:
        listed = await signed.trail.checkpoints(session, signed.tenant, after_seq=4, limit=10)
    (checkpoint,) = listed
    (_, stored) = await signed.checkpoints()
    assert checkpoint.seq == 8
    assert checkpoint.body.encode() == stored.signed.body
    assert checkpoint.head == (await signed.hashes())[7].hex()
    assert checkpoint.anchored_at is not None


async def test_the_application_cannot_sign_beyond_its_chain(signed: Ledger) -> None:
    statement = "SELECT eai.audit_checkpoint(99, '', '', now(), '', '', '', '')"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await signed.database.statement(statement, {})
