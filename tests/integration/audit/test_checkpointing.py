"""When chains are signed, what is anchored, and what happens while that cannot be done: fault 39."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from eai.audit.checkpoint import TrustedKeys, key_id
from eai.audit.checkpoint_rows import CheckpointRows
from eai.audit.jobs import Checkpointing
from eai.audit.merkle import root_of
from eai.audit.ports import Anchor
from eai.audit.repository import unsettled_tenants
from eai.audit.signing import Signing
from eai.integrations.anchor import read_anchor
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey
from eai.platform.metrics import AUDIT_ALARMS, AUDIT_UNANCHORED
from tests.integration.audit.conftest import (
    CADENCE,
    Ledger,
    MovableClock,
    Superuser,
    read_of,
)

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def alarms(reason: str) -> float:
    return AUDIT_ALARMS.labels(reason)._value.get()


async def unsettled(ledger: Ledger, clock: MovableClock) -> set[TenantId]:
    long_ago = clock.now() - CADENCE.interval
    return {*await unsettled_tenants(ledger.database, CADENCE.events, long_ago)}


def block(path: Path) -> None:
    """Put a folder where the file should be, so that it cannot be opened."""
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)


def unblock(path: Path) -> None:
    path.rmdir()


class TestIssuing:
    async def test_a_checkpoint_states_root_and_head_of_the_whole_chain(
        self, ledger: Ledger, checkpointing: Checkpointing
    ) -> None:
        await ledger.grow(6)
        await checkpointing.issue_for([ledger.tenant])
        hashes = await ledger.hashes()
        (stored,) = await ledger.checkpoints()
        stated = stored.signed.checkpoint
        assert stored.signed.is_genuine()
        assert (stated.tenant, stated.seq, stated.issued_at) == (ledger.tenant, 6, NOON)
        assert (stated.head, stated.root) == (hashes[-1], root_of(hashes))

    async def test_it_is_due_after_a_minute_or_so_many_entries(
        self, ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock
    ) -> None:
        await ledger.grow(2)
        await checkpointing.issue_for([ledger.tenant])
        await ledger.grow(2)
        clock.advance(59)
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [2]
        clock.advance(1)
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [2, 4]
        await ledger.grow(50)
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [2, 4, 54]

    async def test_a_chain_that_did_not_grow_gets_none(
        self, ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock
    ) -> None:
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == []
        await ledger.grow(2)
        for _ in range(3):
            clock.advance(3600)
            await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [2]

    async def test_the_next_one_goes_on_from_the_last(
        self, ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock
    ) -> None:
        for events in (2, 6, 18):
            await ledger.grow(events)
            clock.advance(60)
            await checkpointing.issue_for([ledger.tenant])
        hashes = await ledger.hashes()
        assert await ledger.signed_seqs() == [2, 8, 26]
        for stored in await ledger.checkpoints():
            assert stored.signed.checkpoint.root == root_of(hashes[: stored.seq])

    async def test_every_chain_with_something_to_do_is_found_the_platforms_too(
        self, ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock, other_tenant: TenantId
    ) -> None:
        await ledger.grow(2)
        await ledger.audit.flush(read_of(PLATFORM_TENANT))
        clock.advance(60)
        found = await unsettled(ledger, clock)
        assert {ledger.tenant, PLATFORM_TENANT} <= found
        assert other_tenant not in found
        await checkpointing.issue_due()
        assert await ledger.signed_seqs() == [2]
        assert {ledger.tenant, PLATFORM_TENANT}.isdisjoint(await unsettled(ledger, clock))

    async def test_a_chain_is_left_alone_until_it_is_due(
        self, ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock
    ) -> None:
        await ledger.grow(2)
        await checkpointing.issue_for([ledger.tenant])
        await ledger.grow(48)
        assert ledger.tenant not in await unsettled(ledger, clock)
        await ledger.grow(2)
        assert ledger.tenant in await unsettled(ledger, clock)

    async def test_several_workers_at_once_do_no_harm(
        self, ledger: Ledger, checkpointing: Checkpointing, anchor_path: Path
    ) -> None:
        await ledger.grow(10)
        await asyncio.gather(*(checkpointing.issue_for([ledger.tenant]) for _ in range(4)))
        assert await ledger.signed_seqs() == [10]
        assert [signed.seq for signed in read_anchor(anchor_path, ledger.tenant)] == [10]


class TestBrokenChain:
    async def test_what_was_changed_since_the_last_checkpoint_is_not_signed(
        self, ledger: Ledger, checkpointing: Checkpointing, superuser: Superuser
    ) -> None:
        await ledger.grow(10)
        superuser.execute(
            "UPDATE eai.audit_events SET decision = 'deny' WHERE tenant_id = %(tenant)s AND seq = 4",
            tenant=ledger.tenant,
        )
        before = alarms("chain_broken")
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == []
        assert alarms("chain_broken") == before + 1

    async def test_a_chain_shorter_than_its_last_checkpoint_raises_the_alarm(
        self, ledger: Ledger, checkpointing: Checkpointing, superuser: Superuser, clock: MovableClock
    ) -> None:
        await ledger.grow(10)
        await checkpointing.issue_for([ledger.tenant])
        superuser.execute(
            "UPDATE eai.audit_heads SET seq = 8 WHERE tenant_id = %(tenant)s", tenant=ledger.tenant
        )
        assert ledger.tenant in await unsettled(ledger, clock)
        before = alarms("chain_broken")
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [10]
        assert alarms("chain_broken") == before + 1

    async def test_a_checkpoint_that_somebody_damaged_does_not_stop_the_others(
        self, ledger: Ledger, checkpointing: Checkpointing, superuser: Superuser, other_tenant: TenantId
    ) -> None:
        await ledger.grow(2)
        await checkpointing.issue_for([ledger.tenant])
        superuser.execute(
            "UPDATE eai.audit_checkpoints SET body = 'x' WHERE tenant_id = %(tenant)s", tenant=ledger.tenant
        )
        await ledger.audit.flush(read_of(other_tenant))
        before = alarms("chain_broken")
        await checkpointing.issue_for([ledger.tenant, other_tenant])
        assert alarms("chain_broken") == before + 1
        async with ledger.database.transaction(other_tenant) as session:
            assert await CheckpointRows(session, other_tenant).last() is not None


class TestTroubleWithOneChain:
    async def test_what_nobody_foresaw_stops_neither_the_others_nor_the_worker(
        self, ledger: Ledger, checkpointing: Checkpointing, superuser: Superuser, other_tenant: TenantId
    ) -> None:
        await ledger.grow(2)
        await ledger.audit.flush(read_of(other_tenant))
        superuser.execute(
            "ALTER TABLE eai.audit_checkpoints"
            f" ADD CONSTRAINT refused CHECK (tenant_id <> '{ledger.tenant}') NOT VALID"
        )
        before = alarms("checkpoint_failed"), alarms("chain_broken")
        try:
            await checkpointing.issue_for([ledger.tenant, other_tenant])
        finally:
            superuser.execute("ALTER TABLE eai.audit_checkpoints DROP CONSTRAINT refused")
        assert (alarms("checkpoint_failed"), alarms("chain_broken")) == (before[0] + 1, before[1])
        async with ledger.database.transaction(other_tenant) as session:
            assert await CheckpointRows(session, other_tenant).last() is not None
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [2]

    async def test_a_lock_that_is_not_to_be_had_makes_no_other_chain_wait(
        self, ledger: Ledger, checkpointing: Checkpointing, superuser: Superuser, other_tenant: TenantId
    ) -> None:
        await ledger.grow(2)
        await ledger.audit.flush(read_of(other_tenant))
        superuser.execute(
            "CREATE FUNCTION eai.too_slow() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN RAISE EXCEPTION USING ERRCODE = 'lock_not_available'; END $$",
            "CREATE TRIGGER too_slow BEFORE INSERT ON eai.audit_checkpoints FOR EACH ROW"
            f" WHEN (NEW.tenant_id = '{ledger.tenant}') EXECUTE FUNCTION eai.too_slow()",
        )
        try:
            await checkpointing.issue_for([ledger.tenant, other_tenant])
        finally:
            superuser.execute("DROP FUNCTION eai.too_slow() CASCADE")
        async with ledger.database.transaction(other_tenant) as session:
            assert await CheckpointRows(session, other_tenant).last() is not None


class TestUnreachableAnchor:
    async def test_entries_and_checkpoints_go_on_and_are_anchored_later(
        self, ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock, anchor_path: Path
    ) -> None:
        block(anchor_path)
        before = alarms("anchor_unreachable")
        for _ in range(2):
            await ledger.grow(2)
            clock.advance(60)
            await checkpointing.issue_for([ledger.tenant])
        assert [each.anchored_at for each in await ledger.checkpoints()] == [None, None]
        assert alarms("anchor_unreachable") == before + 2
        assert AUDIT_UNANCHORED._value.get() == 2
        report = await ledger.verify()
        assert (report.valid, report.events, report.checkpoints) == (True, 4, 2)
        assert (report.anchor_reachable, report.anchored_seq, report.unanchored_since) == (False, 0, NOON)

        unblock(anchor_path)
        await checkpointing.issue_for([ledger.tenant])
        assert [signed.seq for signed in read_anchor(anchor_path, ledger.tenant)] == [2, 4]
        assert all(each.anchored_at for each in await ledger.checkpoints())
        assert AUDIT_UNANCHORED._value.get() == 0
        report = await ledger.verify()
        assert (report.anchor_reachable, report.anchored_seq, report.unanchored_since) == (True, 4, None)

    async def test_the_time_since_is_that_of_the_last_one_that_was_anchored(
        self, ledger: Ledger, checkpointing: Checkpointing, clock: MovableClock, anchor_path: Path
    ) -> None:
        await ledger.grow(2)
        await checkpointing.issue_for([ledger.tenant])
        block(anchor_path)
        clock.advance(600)
        await ledger.grow(2)
        await checkpointing.issue_for([ledger.tenant])
        report = await ledger.verify()
        assert (report.valid, report.anchor_reachable) == (True, False)
        assert (report.anchored_seq, report.unanchored_since) == (2, NOON)

    async def test_one_unreachable_anchor_is_asked_once_per_round(
        self, ledger: Ledger, checkpointing: Checkpointing, anchor_path: Path, other_tenant: TenantId
    ) -> None:
        block(anchor_path)
        await ledger.grow(2)
        await ledger.audit.flush(read_of(other_tenant))
        before = alarms("anchor_unreachable")
        await checkpointing.issue_for([ledger.tenant, other_tenant])
        assert alarms("anchor_unreachable") == before + 1


class TestSigningKeys:
    async def test_a_missing_key_stops_no_entry_and_the_backlog_is_signed_later(
        self, ledger: Ledger, checkpointing: Checkpointing, anchor: Anchor, clock: MovableClock
    ) -> None:
        await ledger.grow(2)
        await checkpointing.issue_for([ledger.tenant])
        clock.advance(60)
        stranger = Signing(Keyring(MasterKey(b"x" * 32), ledger.database), clock)
        keyless = Checkpointing(ledger.database, stranger, anchor, clock.told, CADENCE)
        before = alarms("signing_key_missing")
        await ledger.grow(4)
        await keyless.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [2]
        assert alarms("signing_key_missing") == before + 1
        await ledger.grow(4)
        assert (await ledger.verify()).unanchored_since == NOON
        await checkpointing.issue_for([ledger.tenant])
        assert await ledger.signed_seqs() == [2, 10]
        assert (await ledger.verify()).unanchored_since is None

    async def test_a_rotated_key_is_endorsed_by_the_one_before_and_signs_from_then_on(
        self, ledger: Ledger, checkpointing: Checkpointing, signing: Signing
    ) -> None:
        await ledger.grow(50)
        await checkpointing.issue_for([ledger.tenant])
        async with ledger.database.transaction(PLATFORM_TENANT) as session:
            old = (await signing.current(session)).public_key().public_bytes_raw()
            rotated = await signing.rotate(session)
            records = await signing.records(session)
        await ledger.grow(50)
        await checkpointing.issue_for([ledger.tenant])
        first, second = await ledger.checkpoints()
        assert [first.signed.public_key, second.signed.public_key] == [old, rotated.public_key]
        assert rotated.public_key in TrustedKeys(records, pinned=[old])
        assert (await ledger.verify()).valid

    async def test_two_processes_that_begin_together_use_one_key(
        self, database: Database, signing: Signing
    ) -> None:
        async def current() -> bytes:
            async with database.transaction(PLATFORM_TENANT) as session:
                return (await signing.current(session)).public_key().public_bytes_raw()

        assert len({*await asyncio.gather(*(current() for _ in range(4)))}) == 1

    async def test_a_row_that_nobody_endorsed_is_no_key(
        self, database: Database, signing: Signing, superuser: Superuser
    ) -> None:
        async with database.transaction(PLATFORM_TENANT) as session:
            last = await signing.current(session)
        superuser.execute(
            "INSERT INTO eai.signing_keys (key_id, public_key, wrapped, predecessor, endorsement, created_at)"
            " VALUES ('forged', %(key)s, '', %(last)s, %(noise)s, now())",
            key=bytes(32),
            noise=bytes(64),
            last=key_id(last.public_key().public_bytes_raw()),
        )
        try:
            async with database.transaction(PLATFORM_TENANT) as session:
                again = await signing.current(session)
        finally:
            superuser.execute("DELETE FROM eai.signing_keys WHERE key_id = 'forged'")
        assert again.private_bytes_raw() == last.private_bytes_raw()
