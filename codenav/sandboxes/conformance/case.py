"""The list of the containment cases, and the form of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codenav.sandboxes.conformance.lab import Lab


@dataclass(frozen=True)
class Case:
    """An attack, and what must come of it."""

    id: str
    """Section and number: `F` file system, `N` network, `P` processes, `R` resources, `S` secrets, `C` confusion."""
    title: str
    attack: Callable[[Lab], None]
    """The attack; it raises `Broken` where the sandbox does not hold."""
    changes: Mapping[str, Any]
    """Changes to the specification of the sandbox under attack."""
    work: bool
    """True if it has a work folder of the host."""


CASES: dict[str, Case] = {}
"""Every case by its id, in the order of the list."""


def case(
    id: str, title: str, *, work: bool = False, **changes: Any
) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
    """Add a function to the list, as a decorator."""

    def add(attack: Callable[[Lab], None]) -> Callable[[Lab], None]:
        CASES[id] = Case(id, title, attack, changes, work)
        return attack

    return add
