"""Approval by a person: of a step of code before it runs, and of a call to a tool while its step waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from codenav.core.clocks import asking


@dataclass(frozen=True)
class Question:
    """A question that only a person may answer. As a text it is one sentence that ends in a question mark."""

    text: str
    kind: str = ""
    """`call`, `step`, or `isolation`: may code run without any?"""
    tool: str = ""
    """The tool of a call, `shop.create_order`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the call, with secrets masked and the content of files left out."""
    earlier: int = 0
    """Calls of the tool that this run has made."""
    code: str = ""
    """The code of a step."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Approval:
    """The answer to a question. `Approval(True)` is yes, this once."""

    allowed: bool
    calls: int | None = 1
    """Calls of this tool that it holds for, the one in question included; None is all of this run. A call with a list
    among its arguments is asked about again."""
    code: str = ""
    """Code that runs in place of the step in question."""
    reason: str = ""
    """Reason for a no. The model reads it."""


Approver = Callable[[Question], Approval | bool]
"""A function that puts questions to a person: a terminal, a page, a client of MCP, a program. It comes from any thread,
one question at a time. Its method `cancel`, if it has one, is called from another thread to answer with no."""


def answer_of(approver: Approver, question: Question) -> Approval:
    """Ask, and return the answer; True and False stand for a plain yes and no."""
    with asking():
        given = approver(question)
    return given if isinstance(given, Approval) else Approval(bool(given))
