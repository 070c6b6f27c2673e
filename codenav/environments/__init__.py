"""The environments: each answers one kind of action. A new one takes one class and one prompt file."""

from codenav.environments.code import CodeEnvironment
from codenav.environments.endings import AskEnvironment, CodeSummaryEnvironment, DoneEnvironment
from codenav.environments.ranking import Ranking
from codenav.environments.search import SearchEnvironment
from codenav.environments.standard import EpisodeParts, MakeEnvironments, standard_environments

__all__ = [
    "AskEnvironment",
    "CodeEnvironment",
    "CodeSummaryEnvironment",
    "DoneEnvironment",
    "EpisodeParts",
    "MakeEnvironments",
    "Ranking",
    "SearchEnvironment",
    "standard_environments",
]
