"""Tests of retrieval: a package with this file, for benchmarks/ has a module of its name."""
