"""Traces: requests with the calls that answered them, in order, and whose result went into which call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.system.stored import Makers, Stored, all_of

SAMPLES = "samples"
"""The origin of calls that nobody made: they were drawn from a tool graph, and a request was written for them."""


@dataclass(frozen=True, slots=True)
class TracedCall(Stored):
    """A call of a callable."""

    name: str
    """The name of the callable, as by `callable_name`."""
    ok: bool = True
    """False if it raised, was refused, or answered with an error."""
    seconds: float | None = None
    """None if it was not measured."""
    takes: Mapping[str, int] = field(default_factory=dict)
    """The calls whose results it takes, as places in the trace (0 is the first), by the name of the parameter."""


@dataclass(frozen=True, slots=True)
class Trace(Stored):
    """The calls that answered a request. Its JSON form is a line of a file of traces."""

    id: str
    calls: tuple[TracedCall, ...]
    request: str = ""
    """Empty if the calls are of code that nobody asked for: a test, an example."""
    verified: bool = True
    """False for what failed or was never replayed: it only lowers weights."""
    origin: str = "traces"
    """`traces`, `code`, `specs` or `episodes`; or `SAMPLES`, which train and test, and teach a graph nothing."""
    ended: float = 0.0
    """Seconds since the epoch; 0 if unknown."""
    ordered: bool = True
    """False if the order of the calls is not known: a set of tools rather than a sequence."""

    made: ClassVar[Makers] = {"calls": all_of(TracedCall)}


def callable_name(block: CodeBlock) -> str:
    """The name by which traces and the tool graph know the callable of a block; empty if it is none.

    The module that defines it with the name inside it: `networkx.classes.graph.Graph.add_edge`; of a tool the
    name by which the broker records its calls: `shop.create_order`.
    """
    if block.kind not in (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.TOOL):
        return ""
    module = block.module
    if not module:
        _, imports, rest = block.import_line.partition("from ")
        module = rest.partition(" import ")[0] if imports else ""
    if block.kind is BlockKind.TOOL:
        module = module.removeprefix("tools.")
    return f"{module}.{block.qualname}" if module else block.qualname
