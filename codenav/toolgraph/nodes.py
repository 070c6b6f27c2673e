"""The nodes and edges of a tool graph: the counts that they rest on, and the weight of a node."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, NamedTuple

from codenav.core.system.stored import Makers, Stored

HALF_LIFE = 180 * 86_400.0
"""Seconds after which a call counts half as much: an interface changes about twice a year. Chosen, not fitted."""
SLOW = 10.0
"""Seconds of a mean call that halve the weight: the limit up to which an answer keeps a person's attention (J. Nielsen,
Usability Engineering, 1993, 5.5)."""


class NodeKind(StrEnum):
    """The kinds of nodes."""

    CALLABLE = "callable"
    GROUP = "group"
    """A class, a module, a specification: what several callables are members of."""
    CATEGORY = "category"
    ACTION = "action"
    """A stage of work, made by hand (Chat2Graph)."""


class EdgeKind(StrEnum):
    """The kinds of edges."""

    NEXT = "next"
    """The target is called after the source."""
    RESOURCE = "resource"
    """The target takes what only the source gives."""
    WEAK_RESOURCE = "weak_resource"
    """The target takes what the source gives, and others too."""
    MEMBER = "member"
    """The source is a member of the target."""
    CALL = "call"
    """The source, an action, calls the target, a callable."""
    SUBSTITUTE = "substitute"
    """The target does what the source does."""


class EdgeKey(NamedTuple):
    """The key of an edge."""

    kind: EdgeKind
    source: str
    target: str
    resource: str = ""
    """The name of what goes from one to the other; empty for edges that are no resource's."""


@dataclass(slots=True)
class Node(Stored):
    """A callable, or what callables belong to."""

    id: str
    """For a callable as by `traces.callable_name`."""
    kind: NodeKind = NodeKind.CALLABLE
    description: str = ""
    score: float | None = None
    """Given by hand, 0 to 1; None: the weight is that of what happened."""
    calls: int = 0
    successes: int = 0
    seconds: float = 0.0
    """The sum of those that were measured."""
    measured: int = 0
    last_use: float = 0.0
    """Seconds since the epoch; 0 if never."""
    check: float = 1.0
    """The weight that the check of a tool gave it, 0 to 1."""
    days: dict[str, int] = field(default_factory=dict)
    """The number of verified traces that used it, by days since the epoch, so that a use can be taken out again."""

    made: ClassVar[Makers] = {"kind": NodeKind}

    def copy(self) -> Node:
        """A node of its own with the same content."""
        return replace(self, days=dict(self.days))

    @property
    def weight(self) -> float:
        """The usability of a callable, 0 to 1, as of now."""
        return self.usability(time.time())

    def usability(self, at: float = 0.0) -> float:
        """The score given by hand, else `check` x reliability x speed.

        The node weight of tool-graph planning (static from cleaned paths, then changed by each call), from the figures
        by which API markets rate a service: success rate, latency, popularity. Reliability is Laplace's rule of
        succession, (successes + 1) / (calls + 2): two calls that never happened, one good and one bad, keep the weight
        of what was called once near 1/2, and what is called often and well comes near 1. Calls count half as much for
        each `HALF_LIFE` since the last one, so that what nobody used for long goes back to 1/2. Speed is
        1 / (1 + mean seconds / `SLOW`), the mean shrunk by one call of no time; what was never measured is not slow.

        Args:
            at: seconds since the epoch. 0: at the time of the last use.
        """
        if self.score is not None:
            return self.score
        age = max(0.0, at - self.last_use) if self.last_use and at else 0.0
        faded = math.exp2(-age / HALF_LIFE)
        reliability = (self.successes * faded + 1) / (self.calls * faded + 2)
        speed = 1 / (1 + self.seconds / (self.measured + 1) / SLOW)
        return self.check * reliability * speed


@dataclass(slots=True)
class Edge(Stored):
    """A relation of two nodes."""

    score: float | None = None
    """Given by hand, 0 to 1; None: the weight is that of what was counted, and 1.0 where nothing was."""
    count: int = 0
    origins: dict[str, int] = field(default_factory=dict)
    """Its counts by where they come from: `traces`, `code`, `code:KEY` of another source, `specs`, `episodes`."""

    def copy(self) -> Edge:
        """An edge of its own with the same content."""
        return replace(self, origins=dict(self.origins))
