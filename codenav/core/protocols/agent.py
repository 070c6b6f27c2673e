"""The contracts of the loop: agent, model, environments, checkers, listeners, verifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from codenav.core.actions import Action, Observation, Step, Turn
from codenav.core.events import Event
from codenav.core.execution import CheckReport, Verdict
from codenav.core.messages import Completion, Message, Sampling


class Checker(Protocol):
    """A checker of each step's code while it runs: black, flake8, mypy."""

    def check(self, code: str) -> Sequence[CheckReport]:
        """Return a report for each tool that is switched on. Never raises: a failing tool says so in its report."""
        ...

    def remember(self, code: str, *, failed_at: int | None = None) -> None:
        """Note a step that ran, so that later steps may use what it bound.

        `failed_at` is the 1-based line at which it raised. Lines below it did not run.
        """
        ...

    def close(self) -> None:
        """End the processes of the tools. Safe to call twice."""
        ...


class Model(Protocol):
    """A language model, or a stand-in for one."""

    @property
    def name(self) -> str:
        """Name of the model for the record."""
        ...

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        """Return the next answer in a conversation. `timeout` in seconds includes all retries, which happen inside.

        `sampling` stands in place of the model's own for this answer; a model may leave out what it does not know of
        it. One of codenav's own also gets `tools`, where actions are to be native calls.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed, ContextOverflow.
        """
        ...

    def close(self) -> None:
        """Release connections. Safe to call twice."""
        ...


class Environment(Protocol):
    """A part that answers one kind of action. It is made for each episode, so it may remember what it showed."""

    @property
    def action(self) -> type[Action]:
        """The class of the actions that it answers. The default of its `type` also names the prompt file.

        An environment without such a file has the text of it as its attribute `prompt`.
        """
        ...

    def facts(self) -> Mapping[str, str]:
        """Return values for the `${names}` in its prompt file."""
        ...

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        """Carry out one action. What the model can correct goes into the observation, never into an exception.

        `timeout` is what the episode has left, in seconds; None is no limit. Long operations register with
        `cancelling.current_scope()` how to wake them when the episode is cancelled.
        """
        ...


class Agent(Protocol):
    """The part that chooses the actions of an episode. It works on one request at a time.

    An episode calls `brief` once, then `act` repeatedly, all in one thread. The next `brief` begins the next request,
    so one object serves a whole session; episodes that run at the same time need an agent each. Cancelling the episode
    ends whatever `act` waits for if that registers with `cancelling.current_scope()`, as a `ChatModel` does. Anything
    else is waited for.
    """

    @property
    def name(self) -> str:
        """Name of the model for the record."""
        ...

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Take up a request, forgetting the previous one, and return the system prompt for the record.

        `description` says what the code base is for. `environments` answer the actions: each has the class of its
        `action` and `facts` about itself.

        Raises:
            UsageError: the agent cannot work with these environments. The episode does not begin.
        """
        ...

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """Return the next action, given all steps of this request so far.

        `timeout` is what the episode has left, in seconds. An answer without a valid action is a `Turn` with `invalid`,
        never an exception.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed: the episode ends as an error. `partial` of the exception is
                what the call had cost and written.
            Cancelled: the episode was cancelled meanwhile.
        """
        ...


class Reviewer(Protocol):
    """A reader of the answer that is to end an episode."""

    def review(self, answer: str, steps: Sequence[Step], *, timeout: float | None = None) -> str:
        """Return what the agent is told where the answer does not do, else an empty text, which accepts it.

        `steps` are those before the answer. An episode does not end while a reviewer finds fault, so each counts how
        often it did.
        """
        ...


Listener = Callable[[Event], None]
"""Callback for the events of a run, such as a display or a recorder."""


class Verifier(Protocol):
    """A function that replays a script in a fresh sandbox and compares the result."""

    def __call__(self, script: str, *, timeout: float | None = None) -> Verdict:
        """Return the verdict on a script. `timeout` is what the episode has left, in seconds; None is no limit.

        Raises:
            Cancelled: the episode was cancelled meanwhile.
        """
        ...
