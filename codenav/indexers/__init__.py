"""Indexers: readers of code bases, documents and tool sources.

In: a folder, a repository, an installed package or a tool source.
Out: blocks, and what changed since they were last read.
May import: `core`, `tools`.
"""
