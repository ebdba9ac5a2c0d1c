"""The only way to a model: checks before a call, measures after it."""
