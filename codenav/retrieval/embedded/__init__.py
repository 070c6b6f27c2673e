"""The embedded store: tantivy indexes in a folder, which need no server."""
