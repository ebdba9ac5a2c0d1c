"""How much work the styles of one page may make."""

MOST_STEPS = 1_000_000
"""A second or two of one core. Honest pages need a tenth of that."""


class Steps:
    """Counts what is done for a page. What was not done any more is to be told as unread."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self._left = most

    @property
    def are_spent(self) -> bool:
        """Whether anything was refused."""
        return self._left < 0

    def take(self, number: int = 1) -> bool:
        """Whether so many more steps may be taken; once they may not, none may."""
        if not self.are_spent:
            self._left -= number
        return not self.are_spent
