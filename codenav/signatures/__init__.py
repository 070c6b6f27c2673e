"""Signatures and types of callables: asked of the interpreter that calls them, read from docstrings, compared."""
