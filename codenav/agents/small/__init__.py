"""The agent for models under about 7B: offers in place of searches, three moves, drafts chosen by what they print."""

from codenav.agents.small.agent import DRAFTS, SmallAgent

__all__ = ["DRAFTS", "SmallAgent"]
