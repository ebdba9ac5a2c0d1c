"""Rules that may only narrow: the shipped ones, each tenant's own, and an outside engine's."""
