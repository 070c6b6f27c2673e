"""The checkers (black, flake8 and mypy) that read each step while it runs."""

from __future__ import annotations

from codenav.environments.checkers.steps import StepChecks

__all__ = ["StepChecks"]
