"""How long documents are kept: policies, legal holds, and the removal of what is due."""
