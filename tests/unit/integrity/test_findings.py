"""What may be found is grouped, counted and documented."""

from pathlib import Path

from eai.integrity.findings import POINT_KINDS, REPAIRABLE, SHOWN_IDS, Found, Kind, grouped

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "examine-and-repair.md"


def test_findings_are_counted_by_kind_and_name_the_first_ids() -> None:
    found = [Found(Kind.POINT_ORPHANED, f"{number:03}") for number in range(50, 0, -1)]
    findings = grouped([*found, Found(Kind.POINT_MISSING, "a")])
    assert [(finding.kind, finding.count) for finding in findings] == [
        (Kind.POINT_MISSING, 1),
        (Kind.POINT_ORPHANED, 50),
    ]
    assert findings[1].ids == tuple(f"{number:03}" for number in range(1, SHOWN_IDS + 1))
    assert findings[0].to_json() == {"kind": "point_missing", "count": 1, "ids": ["a"]}


def test_every_kind_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in Kind if f"`{kind}`" not in page] == []


def test_all_of_the_index_can_be_mended_and_nothing_of_the_audit() -> None:
    assert POINT_KINDS <= REPAIRABLE
    assert [kind for kind in REPAIRABLE if kind.startswith(("audit_", "usage_", "model_call_"))] == []
