"""Everything measured, each against a named floor or peer in the same run."""
