"""What data stewards see of held documents, and what they decide."""
