"""Retrieval: indexes of sources, and the one path of a search.

In: blocks, and a query or a request in plain words.
Out: hits in order, each with its reason, from the embedded store or Elasticsearch.
May import: `core`, `indexers`, `tools`.
"""
