"""Who has asked for work on a document, as the job's row keeps it."""

from collections.abc import Mapping
from typing import Any

from eai.access.subject import Subject


def submitter(subject: Subject) -> Mapping[str, Any]:
    """Who submits a document, for the job's row: whose quota and policies count is settled by then."""
    return {
        "kind": str(subject.kind),
        "principal": str(subject.principal),
        "api_key": str(subject.api_key),
        "groups": sorted(map(str, subject.groups)),
        "roles": list(map(str, subject.roles)),
        "clearance": str(subject.clearance),
    }
