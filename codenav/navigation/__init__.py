"""Navigation between blocks.

In: an index, and a name, a block or a piece of code.
Out: definitions, callers, callees, outlines, descriptions, offers and hints for a model.
May import: `core`, `retrieval`, `indexers`, `tools`.
"""
