"""Passages of served versions, and the rights classes their points carry."""
