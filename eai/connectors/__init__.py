"""Where documents come from: who may vouch for a source, at which levels, and whether it is to be seen."""
