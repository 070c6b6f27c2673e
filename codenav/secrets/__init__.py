"""Secrets: which files hold them, in which forms they are written, and how they are masked in what comes out."""
