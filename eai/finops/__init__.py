"""What work may cost and what it did: quotas, reservations against them, and usage."""
