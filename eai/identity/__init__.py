"""Principals, their groups and their credentials: who is asking."""
