"""HTTP: how requests come in, who may do what, and how answers and errors look. No business rules."""
