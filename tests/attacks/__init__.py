"""Attacks on sandboxes that only the tests run, in the form of `codenav.sandboxes.conformance.CASES`.

They try what codenav itself does, which is the same on every machine, or they need a service or a long time.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from codenav.sandboxes.conformance.lab import Case, Lab

ATTACKS: dict[str, Case] = {}
"""Every attack by its id, which is none of `CASES`."""


def case(
    id: str, title: str, *, work: bool = False, **changes: Any
) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
    """Add a function to the attacks, as a decorator."""

    def add(attack: Callable[[Lab], None]) -> Callable[[Lab], None]:
        ATTACKS[id] = Case(id, title, [attack], changes, work)
        return attack

    return add


def renew(lab: Lab) -> None:
    """Open a fresh sandbox in place of the one under attack, in which nothing is left to work with."""
    lab.box.close()
    lab._box = None


def resident() -> int:
    """The bytes of memory that this process holds."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


for _name in ("confusion", "calls", "tools", "rest"):
    importlib.import_module(f"attacks.{_name}")
