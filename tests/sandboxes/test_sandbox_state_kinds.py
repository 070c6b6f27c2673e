"""Kinds of things that are alive: the step after a crash finds what the notice says (`benchmarks/state.py`, a part)."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from state import pairs
from state_kinds import DEATHS, GROUPS

from codenav.core.execution import MIB, Resources

SHORT = [name for name in DEATHS if name not in ("C loop over its time", "out of memory")]


@pytest.mark.parametrize("backend", ["bubblewrap", "docker"], indirect=True)
def test_what_the_next_step_finds_is_what_the_notice_says(fresh):
    troubles = []
    for group, death in zip(GROUPS, itertools.cycle(SHORT)):
        with fresh() as sandbox:
            troubles += [pair for pair in pairs(sandbox, group, [death]) if pair.trouble]
    assert troubles == []


def test_each_way_to_die_is_tried(contained):
    with contained(resources=Resources(memory_bytes=256 * MIB)) as sandbox:
        found = list(pairs(sandbox, "children", DEATHS))
    assert [pair for pair in found if pair.trouble] == []
    assert sum(len(kinds) for kinds, _ in GROUPS.values()) >= 40
