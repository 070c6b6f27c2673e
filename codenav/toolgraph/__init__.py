"""The tool graph: what is called after what, whose result goes into whom, and how usable each proved."""
