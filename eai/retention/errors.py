"""What can go wrong with retention policies and legal holds."""

from eai.kernel.errors import Conflict


class RetentionPolicyExists(Conflict):
    """There is a policy for just these documents already: `policy_id`."""

    code = "retention_policy_exists"


class HoldReleased(Conflict):
    """The hold keeps nothing any more."""

    code = "hold_released"
