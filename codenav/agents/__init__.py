"""The agent that asks a model for each step, with its prompts, history and parser."""

from codenav.agents.agent import CodeNavAgent

__all__ = ["CodeNavAgent"]
