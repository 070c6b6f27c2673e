"""Encoders of texts: a directory of sentence-transformers, or a server; and the tuning of the former."""
