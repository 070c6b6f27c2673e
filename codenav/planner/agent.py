"""The planner as an agent of the loop: it chooses actions as a model does, and gets what a model gets."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from codenav.actions import Action, Done, Step, Turn
from codenav.planner.answers import GAVE_UP, Steps
from codenav.planner.plan import Plan
from codenav.protocols import CallVotes, Environment

NAME = "planner"
"""The name of the planner in `--model planner` and in the record."""
WHAT_IT_IS = "a planner does this, no language model: it guesses which functions you mean"
MOST_FILES = 200
"""Maximum number of names in the work folder that a request may speak of."""


def stands_in(model: str, base_url: str) -> bool:
    """True if the planner does what was asked: by its name, or because neither a model nor a server is named."""
    return model.strip() == NAME or not (model.strip() or base_url.strip())


def files_in(folder: Path) -> list[str]:
    """The names of the files at the top of a folder, longest first, so that none hides another."""
    with suppress(OSError):
        names = (entry.name for entry in folder.iterdir() if entry.is_file())
        return sorted(itertools.islice(names, MOST_FILES), key=lambda name: (-len(name), name))
    return []


class PlannerAgent:
    """An agent without a model. Satisfies `protocols.Agent`."""

    def __init__(
        self, *, files: Collection[str] = (), packages: Collection[str] = (), votes: CallVotes | None = None
    ) -> None:
        """`files`: names in the work folder, which a request may speak of; `packages`: distributions to be used;
        `votes`: what is called after what, and whose result goes into whom, if anything is known of it."""
        self._files, self._packages, self._votes = files, packages, votes
        self._steps: Steps | None = None

    @property
    def name(self) -> str:
        """The name of the agent, `planner`."""
        return NAME

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Take up a request; the description is for models."""
        self._steps = Plan(request, files=self._files, packages=self._packages, votes=self._votes).steps()
        return "No model: a planner reads the request, finds callables that explain its words, fills and calls them."

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next action; each is decided in milliseconds, so `timeout` bounds nothing."""
        assert self._steps is not None
        try:
            action: Action = self._steps.send(steps[-1].observation) if steps else next(self._steps)
        except StopIteration:
            action = Done(f"{GAVE_UP}nothing is left to be tried")
        return Turn(action)
