"""The agent that asks a model for each step, and what it needs: prompts, history, parsing."""

from codenav.agents.agent import CodeNavAgent

__all__ = ["CodeNavAgent"]
