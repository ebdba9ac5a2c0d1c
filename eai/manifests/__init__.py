"""What shall be, written down as objects that can be applied."""
