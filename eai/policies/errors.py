"""What can go wrong with policies. Each of the first three means that nothing was done."""

from collections.abc import Iterable

from eai.kernel.errors import Conflict, Forbidden, Unavailable


class PolicyDenied(Forbidden):
    """A policy forbids it, or none permits it; `policies` names what decided."""

    code = "policy_denied"

    def __init__(self, policies: Iterable[str]) -> None:
        super().__init__(policies=list(policies))


class PolicyFailed(Forbidden):
    """A policy could not be evaluated, which counts as a denial; `policies` names the set."""

    code = "policy_error"

    def __init__(self, policies: Iterable[str]) -> None:
        super().__init__(policies=list(policies))


class PolicyUnavailable(Unavailable):
    """The outside policy engine did not answer in time."""

    code = "policy_unavailable"


class PolicyLimitReached(Conflict):
    """The tenant's policies would be too many or too long together; `limit` says how much there may be."""

    code = "policy_limit_reached"

    def __init__(self, limit: str) -> None:
        super().__init__(limit=limit)
