"""The environments: each answers one kind of action. A new one takes one class and one prompt file."""

from codenav.environments.code import CodeEnvironment
from codenav.environments.endings import AskEnvironment, CodeSummaryEnvironment, DoneEnvironment
from codenav.environments.search import SearchEnvironment

__all__ = ["AskEnvironment", "CodeEnvironment", "CodeSummaryEnvironment", "DoneEnvironment", "SearchEnvironment"]
