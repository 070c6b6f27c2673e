"""Agents: the next action for a request, asked of a model.

In: a request, a description, and the steps so far.
Out: the next action; beneath it the models, their prompts, and what their texts mean.
May import: `core`.
"""

from codenav.agents.agent import CodeNavAgent

__all__ = ["CodeNavAgent"]
