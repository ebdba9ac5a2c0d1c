"""Which tests run on one process, one after the other."""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/integration/faults/", "tests/integration/kills/", "tests/integration/litellm/")
"""Folders whose files share what is slow to begin."""

APART = "tests/simulation/"
"""A folder of tests that keep a process busy, each for seconds."""


class ByFile(LoadScopeScheduling):
    """Hands out whole files, so that what a file begins once is begun once, and as the folders above want it.

    In the order of collection, which puts the many small units last: they even out what is left.
    Groups by mark would do, but of `loadgroup` nothing is left under pytest 9.2 (pytest-xdist issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(APART):
            return nodeid
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)
