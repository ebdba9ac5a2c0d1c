"""Sentences by what their words do: a word has roles, and a pattern is a sequence of roles."""
