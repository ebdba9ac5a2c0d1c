"""What is promised to clients, beyond the operations themselves."""
