"""Environments: each answers one kind of action. A new one takes one class and one prompt file.

In: an action, and what it works on: an index, a sandbox.
Out: an observation, no longer than a model can read.
May import: `core`.
"""

from codenav.environments.code import CodeEnvironment
from codenav.environments.endings import AskEnvironment, CodeSummaryEnvironment, DoneEnvironment
from codenav.environments.offers import OfferEnvironment, Offering
from codenav.environments.ranking import Ranking
from codenav.environments.search import SearchEnvironment
from codenav.environments.standard import (
    EpisodeParts,
    MakeEnvironments,
    small_environments,
    standard_environments,
    usual_environments,
)

__all__ = [
    "AskEnvironment",
    "CodeEnvironment",
    "CodeSummaryEnvironment",
    "DoneEnvironment",
    "EpisodeParts",
    "MakeEnvironments",
    "OfferEnvironment",
    "Offering",
    "Ranking",
    "SearchEnvironment",
    "small_environments",
    "standard_environments",
    "usual_environments",
]
