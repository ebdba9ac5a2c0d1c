"""From which finding on a tenant has documents held. The finding itself is `eai.quarantine`'s."""

from enum import StrEnum


class QuarantineThreshold(StrEnum):
    """How grave a finding must be, the mildest first."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"
