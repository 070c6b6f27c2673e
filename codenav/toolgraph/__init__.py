"""The tool graph: what is called after what, whose result goes into whom, and how usable each proved.

In: traces: of episodes, of the calls in a code base, of specifications and files.
Out: votes that order hits, recommendations, samples, pictures.
May import: `core`, `navigation`, `retrieval`, `episodes`, `indexers`, `tools`.
"""
