"""The contracts of the loop: agent, model, environments, checkers, listeners, verifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from codenav.actions import Action, Observation, Step, Turn
from codenav.events import Event
from codenav.execution import (
    CheckReport,
    Verdict,
)
from codenav.messages import Completion, Message


class Checker(Protocol):
    """Reads the code of each step beside its run: black, flake8, mypy."""

    def check(self, code: str) -> Sequence[CheckReport]:
        """A report per tool that is switched on. Never raises: a tool that fails says so in its report."""
        ...

    def remember(self, code: str, *, failed_at: int | None = None) -> None:
        """A step ran: later steps may use what it bound.

        `failed_at` is the line (1-based) at which it raised: what stands below did not happen.
        """
        ...

    def close(self) -> None:
        """End the tools' processes; safe to call twice."""
        ...


class Model(Protocol):
    """A language model, or something that plays one."""

    @property
    def name(self) -> str:
        """For the record."""
        ...

    def complete(self, messages: Sequence[Message], *, timeout: float | None = None) -> Completion:
        """The next answer in a conversation. Retries inside; `timeout` in seconds bounds all of it.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed, ContextOverflow.
        """
        ...

    def close(self) -> None:
        """Release connections; safe to call twice."""
        ...


class Environment(Protocol):
    """Answers one kind of action. Made anew for each episode, so it may remember what it showed."""

    @property
    def action(self) -> type[Action]:
        """The class of the actions that it answers; its default `type` also names the prompt file."""
        ...

    def facts(self) -> Mapping[str, str]:
        """Values for the `${names}` in its prompt file."""
        ...

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        """Carry out one action. What the model can mend is in the observation, never an exception.

        `timeout` is what the episode has left, in seconds; None is no limit. What takes long registers with
        `cancelling.current_scope()` how it is woken when the episode is cancelled.
        """
        ...


class Agent(Protocol):
    """Chooses the actions of an episode: an object that works on one request at a time.

    An episode calls `brief` once, then `act` again and again, all in one thread. The next `brief` begins the next
    request, so one object serves a whole session; episodes that run at the same time need an agent each. What `act`
    waits for (a `ChatModel`, or anything that registers with `cancelling.current_scope()`) ends when the episode is
    cancelled; an agent that waits for something else is waited for.
    """

    @property
    def name(self) -> str:
        """For the record: the model's name."""
        ...

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Take up a request and forget the one before; returns the system prompt, for the record.

        `description` says what the code base is for. `environments` answer the actions: each has the class of its
        `action` and `facts` about itself.

        Raises:
            UsageError: the agent cannot work with these environments; the episode does not begin.
        """
        ...

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next action, given all steps of this request so far. `timeout` is what the episode has left, in seconds.

        An answer that holds no valid action is a `Turn` with `invalid`, never an exception. A `Try` is carried out as
        code and is no step: `steps` then ends with it, once.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed: the episode ends as an error; `partial` of the exception is
                what the call had cost and written.
            Cancelled: the episode was cancelled meanwhile.
        """
        ...


Listener = Callable[[Event], None]
"""Reads the events of a run: a display, a recorder."""


class Verifier(Protocol):
    """Replays a script in a fresh sandbox and says whether the result is the same."""

    def __call__(self, script: str, *, timeout: float | None = None) -> Verdict:
        """The verdict on a script. `timeout` is what the episode has left, in seconds; None is no limit.

        Raises:
            Cancelled: the episode was cancelled meanwhile.
        """
        ...
