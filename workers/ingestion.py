"""Documents alone: as many processes as there is to take in."""

from eai.platform.handlers import Group
from workers import main

if __name__ == "__main__":
    main([Group.INGESTION])
