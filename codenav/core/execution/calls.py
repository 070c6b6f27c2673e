"""The record of a call that code in a sandbox made to a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from codenav.core.system.stored import Stored


@dataclass(frozen=True, slots=True)
class ToolCall(Stored):
    """A call to a tool that the broker answered."""

    tool: str
    """Its name as imported, without `tools.`: `shop.create_order`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The arguments by their names in Python, secrets masked; content of files is left out, with its length."""
    effect: str = "read"
    """`read`, `write` or `destroy`."""
    outcome: str = "ok"
    """`ok`; `error`, an answer with an error status; `refused`, nothing was sent; `failed`, no answer came; `replayed`,
    the answer is that of an earlier equal call; `dry-run`, checked and not sent."""
    status: int | None = None
    """HTTP status of the answer; None if there is none."""
    seconds: float = 0.0
    bytes: int = 0
    """Bytes of the answer's body."""
    answer: Any = None
    """The whole answer as JSON data; a file as its name, media type and length."""
    shown: str = ""
    """The answer as an observation shows it, or the reason why there is none."""
    tries: int = 1
    """Requests that were sent for it; more than one where it was tried again."""

    digits: ClassVar[Mapping[str, int]] = {"seconds": 4}
