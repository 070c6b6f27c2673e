"""The query language: a tolerant parser that never refuses a text, and its tree."""
