"""How often terms occur in what every reader of a base may see: what the keyword leg weighs with."""
