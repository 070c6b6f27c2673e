"""What black, flake8 and mypy say of each step, beside its run."""

from __future__ import annotations

from codenav.sandboxes.checks.steps import StepChecks

__all__ = ["StepChecks"]
