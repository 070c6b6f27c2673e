"""One question to the supervisor, one answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from codenav.sandboxes.channel import Channel
from codenav.sandboxes.replies import Malformed
from codenav.text import neutral


class Failed(Exception):
    """The supervisor could not do what it was asked; the message, which comes from inside, says why."""


def answer_of(
    channel: Channel, message: Mapping[str, Any], deadline: float, blob: bytes = b"", *, expected: Collection[str] = ()
) -> tuple[Mapping[str, Any], bytes]:
    """The frame that answers a message, with its blob; `expected` are its kinds, or else the kind of the message.

    Raises:
        Failed: the supervisor says that it could not.
        Malformed: it is another kind of answer.
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
