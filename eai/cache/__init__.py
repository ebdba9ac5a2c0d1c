"""What may be told again for a while, sealed so that only the one who asked can be told it."""
