"""Judges: a language model that says if a request was carried out, and which of two attempts is better."""

from codenav.judges.judge import Judge, Preference, Shown, Verdict, Winner

__all__ = ["Judge", "Preference", "Shown", "Verdict", "Winner"]
