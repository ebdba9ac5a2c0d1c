"""What fsck tells a person to do about what it found."""

from uuid import uuid4

import pytest

from eai.cli.fsck import Outcome, advice
from eai.integrity.findings import Finding, Kind, Report
from eai.kernel.ids import TenantId

REPAIR = "-> `eai fsck --repair` mends what rows can prove, and calls no model for it"
AGAIN = "-> what is left may have come meanwhile: run `eai fsck --repair` once more"
PERSON = "-> what is not for --repair waits for a person: docs/how-to/examine-and-repair.md says how"


def outcome(*kinds: Kind) -> Outcome:
    return Outcome(Report(TenantId(uuid4()), tuple(Finding(kind, 1, ("id",)) for kind in kinds)), {}, ())


@pytest.mark.parametrize(
    ("kinds", "repairs", "told"),
    [
        ((), False, []),
        ((Kind.POINT_MISSING,), False, [REPAIR]),
        ((Kind.POINT_MISSING,), True, [AGAIN]),
        ((Kind.MODEL_CALL_UNCLOSED,), False, [PERSON]),
        ((Kind.MODEL_CALL_UNCLOSED,), True, [PERSON]),
        ((Kind.POINT_MISSING, Kind.MODEL_CALL_UNCLOSED), False, [REPAIR, PERSON]),
    ],
)
def test_what_was_found_comes_with_the_way_to_mend_it(
    kinds: tuple[Kind, ...], *, repairs: bool, told: list[str]
) -> None:
    assert list(advice([outcome(), outcome(*kinds)], repairs=repairs)) == told
