"""What stands in a text for what was taken out of it."""

MASK = "\u2588"
"""One for each character, so that what follows stays where it was."""
