"""Navigation between blocks: the definitions of a name, its callers and callees, and the most central code."""
