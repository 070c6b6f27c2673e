"""An agent without a language model: it reads a request, finds callables that explain it, fills and calls them."""

from __future__ import annotations

from codenav.planner.agent import NAME, WHAT_IT_IS, PlannerAgent, files_in, stands_in

__all__ = ["NAME", "WHAT_IT_IS", "PlannerAgent", "files_in", "stands_in"]
