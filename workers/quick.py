"""Deletions and changes of rights alone: what somebody waits for."""

from eai.platform.handlers import Group
from workers import main

if __name__ == "__main__":
    main([Group.QUICK])
