"""What can go wrong with a tenant."""

from eai.kernel.errors import Conflict


class SlugTaken(Conflict):
    """Another tenant of this installation goes by that slug."""

    code = "slug_taken"
