"""What a change of a promise takes away from whoever relied on it, in words. Pure."""
