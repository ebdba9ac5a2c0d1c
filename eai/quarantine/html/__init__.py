"""What of a page a reader sees, and what only lies in its source."""
