"""Tool specifications as ordinary Python: formats, the laid-out state of a source, stubs and blocks."""
