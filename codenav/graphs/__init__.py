"""Tool graphs beside the indexes of their sources: where they are kept, what teaches them, and what they order."""
