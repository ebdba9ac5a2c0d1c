"""From passages that were found to a text that a model can be given."""
