"""The store that keeps its indexes in Elasticsearch."""
