"""Every queue in one process: what `eai up` runs, and enough for a small production."""

from eai.platform.handlers import Group
from workers import main

if __name__ == "__main__":
    main(tuple(Group))
