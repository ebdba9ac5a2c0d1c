"""Knowledge bases: their settings, their access lists, and whether a caller may use one."""
