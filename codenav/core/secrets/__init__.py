"""Secrets: which files contain them, in which forms they are written, and how they are masked in output."""
