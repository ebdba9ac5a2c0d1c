"""`make simulate`."""
