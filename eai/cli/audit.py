"""`eai audit`: check a chain with nothing but its export, and change the key that signs checkpoints."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from eai.cli.terminal import fail

if TYPE_CHECKING:
    from eai.audit.checkpoint import SignedCheckpoint, SigningKey
    from eai.audit.scan import Fault
    from eai.audit.verification import Report
    from eai.kernel.ids import TenantId
    from eai.platform.settings import Settings

app = typer.Typer(no_args_is_help=True, help="The audit chains and the key that signs them.")

_INVALID = 1
_KEY_HEX_DIGITS = 64

_WORDS = {
    "hash_mismatch": "its bytes or its place are not those that were hashed",
    "gap": "it is missing",
    "duplicate": "its number was given already",
    "out_of_order": "it stands in another place",
    "body_unreadable": "its body is no canonical entry",
    "columns_differ": "its columns say something else than its body",
    "foreign_tenant": "it belongs to another tenant",
    "line_unreadable": "its line cannot be read",
    "root_mismatch": "the entries are not those of the signed checkpoint",
    "signature_invalid": "a checkpoint's signature is not genuine",
    "key_untrusted": "a checkpoint is signed by a key that is not trusted",
    "checkpoint_misplaced": "a checkpoint stands after later entries",
    "tail_missing": "the chain ends too early",
    "head_mismatch": "the stated head is another one",
}


@app.callback()
def audit() -> None:
    """The audit chains and the key that signs them."""


@app.command()
def verify(
    file: Annotated[Path, typer.Option(help="Export of one chain, as GET /v1/audit/export gives it.")],
    anchor: Annotated[
        Path | None, typer.Option(help="File of anchored checkpoints (EAI_AUDIT_ANCHOR_PATH).")
    ] = None,
    public_key: Annotated[
        list[str] | None, typer.Option(help="Signing key known from elsewhere: 64 hex digits, or a file.")
    ] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="Default: one per processor.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Verify an export; exit code 0 when nothing is wrong, 1 when something is.

    Without --anchor, a chain that was cut short or rewritten whole by somebody who also changed its
    checkpoints looks sound. With it, that is found up to the last anchored checkpoint.
    """
    from eai.audit.offline import verify_export  # noqa: PLC0415 - help should not wait for it

    try:
        pinned = [_read_key(text) for text in public_key or []]
        kept = _anchored(anchor)
    except OSError as error:
        fail(f"{error.filename} cannot be read: {error.strerror}")
    except ValueError as error:
        fail(str(error))
    try:
        report = verify_export(file, anchored=kept, pinned=pinned, processes=processes)
    except OSError as error:
        fail(f"{error.filename} cannot be read: {error.strerror}")
    except ValueError as error:
        fail(f"{file}: {error}")
    typer.echo(json.dumps(_fields(report)) if as_json else "\n".join(_lines(report, anchor)))
    raise typer.Exit(0 if report.valid else _INVALID)


@app.command("rotate-key")
def rotate_key(
    home: Annotated[
        Path | None, typer.Option(help="Folder with everything of this instance (EAI_HOME).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Sign checkpoints with a new key, endorsed by the present one, and print its public half.

    Auditors who pinned an earlier key need not do anything.
    """
    from eai.audit.signing import SigningKeyMissing  # noqa: PLC0415
    from eai.cli.home_settings import read_settings  # noqa: PLC0415
    from eai.platform.logging import configure_logging  # noqa: PLC0415
    from eai.platform.settings import SettingsError, process_environ  # noqa: PLC0415

    configure_logging(level="WARNING")
    try:
        key = asyncio.run(_rotate(read_settings(process_environ(), home=home)))
    except SettingsError as error:
        fail(str(error))
    except SigningKeyMissing:
        fail("the present signing key cannot be opened: is EAI_MASTER_KEY the one it was made under?")
    public_key = key.public_key.hex()
    typer.echo(json.dumps({"key_id": key.key_id, "public_key": public_key}) if as_json else public_key)


@app.command("fingerprint")
def fingerprint_file(
    file: Annotated[Path, typer.Argument(help="The bytes that were submitted, or a text in UTF-8.")],
    tenant: Annotated[UUID, typer.Option(help="Id of the tenant whose chain is read.")],
    home: Annotated[
        Path | None, typer.Option(help="Folder with everything of this instance (EAI_HOME).")
    ] = None,
) -> None:
    """Print what the chain of a tenant says of a text: `source_hmac` or `content_hmac`.

    It takes the master key and no database, so that a text can be compared with an export of long ago.
    """
    from eai.audit.fingerprints import fingerprint, text_key  # noqa: PLC0415
    from eai.cli.home_settings import read_settings  # noqa: PLC0415
    from eai.kernel.ids import TenantId  # noqa: PLC0415
    from eai.platform.keys import MasterKey  # noqa: PLC0415
    from eai.platform.settings import SettingsError, process_environ  # noqa: PLC0415

    try:
        secret = read_settings(process_environ(), home=home).keys.master_key
        if secret is None:
            fail("EAI_MASTER_KEY is missing: a text is compared under a key that is derived from it")
        key = text_key(MasterKey.from_text(secret.get_secret_value()), TenantId(tenant))
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").digest()
    except OSError as error:
        fail(f"{error.filename} cannot be read: {error.strerror}")
    except (SettingsError, ValueError) as error:
        fail(str(error))
    typer.echo(fingerprint(key, digest))


async def _rotate(settings: "Settings") -> "SigningKey":
    from eai.audit.rotation import rotate_signing_key  # noqa: PLC0415
    from eai.audit.signing import Signing  # noqa: PLC0415
    from eai.bootstrap import build  # noqa: PLC0415
    from eai.kernel.clock import SystemClock  # noqa: PLC0415

    async with build(settings) as platform:
        signing = Signing(platform.keyring, SystemClock())
        return await rotate_signing_key(platform.database, signing, platform.audit)


def _anchored(anchor: Path | None) -> "Callable[[TenantId], Iterable[SignedCheckpoint]] | None":
    from eai.integrations.anchor import read_anchor  # noqa: PLC0415

    if anchor is None:
        return None
    anchor.stat()
    return lambda tenant: read_anchor(anchor, tenant)


def _read_key(text: str) -> bytes:
    """A public key in hex, given itself or as the content of a file."""
    is_hex = len(text) == _KEY_HEX_DIGITS
    written = text if is_hex else Path(text).read_text(encoding="ascii").strip()
    try:
        key = bytes.fromhex(written)
    except ValueError:
        key = b""
    if len(key) * 2 != _KEY_HEX_DIGITS:
        raise ValueError(f"{text} is no public key: 64 hex digits are needed")
    return key


def _fields(report: "Report") -> dict[str, object]:
    fault = report.fault
    return {
        "valid": report.valid,
        "tenant": str(report.tenant),
        "events": report.events,
        "head": {"seq": report.head.seq, "hash": report.head.hash.hex()},
        "first_bad_seq": report.first_bad_seq,
        "bad_until": fault.until if fault else None,
        "reason": fault.reason.value if fault else None,
        "checkpoints": report.checkpoints,
        "anchored_seq": report.anchored_seq,
        "unanchored_since": _instant(report.unanchored_since),
        "clock_back_at": report.clock_back_at,
        "keys_pinned": report.keys_pinned,
    }


def _lines(report: "Report", anchor: Path | None) -> list[str]:
    lines = [f"{'valid' if report.valid else 'NOT VALID'}: {report.events} entries of tenant {report.tenant}"]
    if report.fault:
        lines.append(f"  first bad: {_place(report.fault)} ({_WORDS[report.fault.reason.value]})")
    lines.append(f"  head: {report.head.seq} {report.head.hash.hex()}")
    lines.append(f"  checkpoints that agree: {report.checkpoints}")
    if anchor is None:
        lines.append("  no anchor given: a chain cut short or rewritten whole would not be noticed")
    elif report.unanchored_since:
        lines.append(
            f"  not anchored: entries after {report.anchored_seq}, since {_instant(report.unanchored_since)}"
        )
    if not report.keys_pinned:
        lines.append("  signing keys: as the export itself names them; --public-key would pin them")
    if report.clock_back_at:
        lines.append(
            f"  remark: entry {report.clock_back_at} is dated a minute or more before an earlier one"
        )
    return lines


def _place(fault: "Fault") -> str:
    if fault.until is None or fault.until == fault.seq:
        return f"entry {fault.seq}"
    return f"one of the entries {fault.seq} to {fault.until}"


def _instant(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None
