"""Which documents may not speak before a person has looked at them, and why."""
