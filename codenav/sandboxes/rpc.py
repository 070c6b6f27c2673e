"""Requests to the supervisor other than steps. Each has one answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from codenav.core.errors import NotFound, UsageError
from codenav.core.execution import Held, Variable
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.channel import Channel
from codenav.sandboxes.decoding import Malformed, held_of, variables_of
from codenav.sandboxes.shared import schema
from codenav.sandboxes.values import checked_name, decoded

T = TypeVar("T")

VARIABLES_SECONDS = 10.0
"""Time for the reprs of all variables, however slow the code makes them."""
DIGESTS_SECONDS = 20.0
"""Time for digests, or for one value."""


class Failed(Exception):
    """The supervisor could not do what it was asked. The message, which comes from inside, says why."""


def answer_of(
    channel: Channel, message: Mapping[str, Any], deadline: float, blob: bytes = b"", *, expected: Collection[str] = ()
) -> tuple[Mapping[str, Any], bytes]:
    """Send a message and return the frame that answers it, with its blob.

    `expected` names the accepted kinds of frame, by default the kind of the message.

    Raises:
        Failed: the supervisor reports a failure.
        Malformed: the answer is of another kind.
        Closed, TooLate
    """
    channel.send(message, blob, deadline=deadline)
    frame, attached = channel.receive(deadline=deadline)
    kind = frame["op"]
    if kind == "failed":
        raise Failed(neutral(frame["why"])[:1000])
    if kind not in (expected or (message["op"],)):
        raise Malformed("not an answer to what was asked")
    return frame, attached


class Questions(ABC):
    """Base class for reading the values in a sandbox, by name or all of them."""

    @abstractmethod
    def _ask(self, what: str, seconds: float, ask: Callable[[Channel, float], T]) -> T:
        """Send a request other than a step, while nothing else is asked."""

    def variables(self) -> Mapping[str, Variable]:
        """Return the variables that steps have bound. See `codenav.core.protocols.Sandbox.variables`."""

        def ask(channel: Channel, deadline: float) -> Mapping[str, Variable]:
            frame, _ = answer_of(channel, {"op": "variables", "timeout": VARIABLES_SECONDS}, deadline)
            return {item.name: item for item in variables_of(frame["items"])}

        return self._ask("list its variables", VARIABLES_SECONDS, ask)

    def get(self, name: str) -> Any:
        """Return the value of a variable. See `codenav.core.protocols.Sandbox.get`."""
        checked_name(name)

        def ask(channel: Channel, deadline: float) -> Any:
            frame, _ = answer_of(channel, {"op": "value", "name": name, "timeout": DIGESTS_SECONDS}, deadline)
            if "value" in frame:
                return decoded(frame["value"])
            if frame.get("missing") is True:
                raise NotFound(f"no variable {name} in the sandbox", hint="see box.variables()")
            raise UsageError(
                f"{name} cannot be had: {neutral(frame.get('why', ''))}", hint=f"box.variables()[{name!r}]"
            )

        return self._ask(f"send {name}", DIGESTS_SECONDS, ask)

    def digests(self, first: Sequence[str] = ()) -> Held:
        """Return digests of what steps have bound. See `codenav.core.protocols.Sandbox.digests`."""

        def ask(channel: Channel, deadline: float) -> Held:
            asked = {"op": "digests", "first": list(first)[: schema.MOST_ITEMS], "timeout": DIGESTS_SECONDS}
            return held_of(answer_of(channel, asked, deadline)[0])

        return self._ask("compare its variables", DIGESTS_SECONDS, ask)
