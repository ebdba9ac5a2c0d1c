"""Documents of a base: what was given, which version answers, and who may see it."""
