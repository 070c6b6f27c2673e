"""The state that the step after a crash finds, against the notice of the crash: kinds of objects x ways to die.

    python benchmarks/state.py [--backend bubblewrap] [--image IMAGE] [--only threads,databases]

Each group of kinds is alive in one session; the step that dies spoils all of them first. A pair counts if the notice
says exactly what it should say of the group, and the look at the kind prints what that means.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator
from typing import NamedTuple

from state_kinds import DEATHS, GROUPS

from codenav.core.execution import MIB, Execution, Outcome, Resources, SandboxSpec
from codenav.core.protocols import Sandbox
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import start

KEPT = "state kept: the variables are those from before this step"


class Pair(NamedTuple):
    group: str
    kind: str
    death: str
    trouble: str
    """Empty if the next step finds the state that the notice describes."""


def told(done: Execution, sentences: Collection[str]) -> str:
    """The error in the death of a step or in its notice; empty if there is none."""
    if done.outcome in (Outcome.OK, Outcome.ERROR):
        return f"the step did not die: {done.outcome.value} {done.error}"
    notice = done.notice.partition(" left behind by the step: ")[0]
    if notice == "; ".join([KEPT, *sentences]) + ".":
        return ""
    return f"the notice: {done.notice}"


def pairs(sandbox: Sandbox, group: str, deaths: Collection[str]) -> Iterator[Pair]:
    """Each kind of a group with each way to die, in one session."""
    kinds, sentences = GROUPS[group]
    sandbox.run("import mmap, os, sqlite3, tempfile")
    for death in deaths:
        code, timeout = DEATHS[death]
        wrong = ""
        for kind in kinds:
            made = sandbox.run(kind.make)
            if made.outcome is not Outcome.OK:
                wrong = wrong or f"not made: {kind.name}: {made.error}"
        spoilt = "\n".join(kind.spoil for kind in kinds)
        wrong = wrong or told(sandbox.run(f"{spoilt}\n{code}", timeout=timeout), sentences)
        for kind in kinds:
            looked = sandbox.run(kind.look, timeout=10)
            found = looked.stdout.strip() if looked.ok else f"{looked.outcome.value}: {looked.error}"
            trouble = wrong or ("" if found == kind.found else f"found {found[:200]}, expected {kind.found}")
            yield Pair(group, kind.name, death, trouble)


def table(backend: str, image: str, groups: Collection[str]) -> int:
    """Print a row per kind; return the number of wrong pairs."""
    spec = SandboxSpec(find_interpreter(), image=image, resources=Resources(memory_bytes=256 * MIB))
    print(f"\n{backend:44}" + "".join(f"{death[:12]:>14}" for death in DEATHS), flush=True)
    held = total = 0
    for group in groups:
        with start(backend, spec) as sandbox:
            found = list(pairs(sandbox, group, DEATHS))
        for kind in dict.fromkeys(pair.kind for pair in found):
            row = {pair.death: pair.trouble for pair in found if pair.kind == kind}
            print(
                f"  {group[:20]:20} {kind[:36]:21}" + "".join(f"{'no' if row[d] else 'yes':>14}" for d in DEATHS),
                flush=True,
            )
        for pair in found:
            if pair.trouble:
                print(f"    {pair.kind}, {pair.death}: {pair.trouble}")
        held, total = held + sum(not pair.trouble for pair in found), total + len(found)
    print(f"{backend}: {held} of {total}", flush=True)
    return total - held


def main() -> int:
    """Print the tables; return 0 if every pair is right."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--backend", default="bubblewrap")
    options.add_argument("--image", default="")
    options.add_argument("--only", default=",".join(GROUPS), help="groups, separated by commas")
    given = options.parse_args()
    return int(table(given.backend, given.image, given.only.split(",")) > 0)


if __name__ == "__main__":
    sys.exit(main())
