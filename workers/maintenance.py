"""Reindexes, removals, reweighings, examinations and repairs alone: what takes hours."""

from eai.platform.handlers import Group
from workers import main

if __name__ == "__main__":
    main([Group.MAINTENANCE])
