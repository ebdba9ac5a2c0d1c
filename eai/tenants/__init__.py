"""The customers of one installation, and the few settings that are theirs."""
