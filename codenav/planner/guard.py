"""What the work folder holds stays as it is while calls are tried."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator
from functools import cache
from importlib import resources

from codenav.actions import Action, CodeObservation, Observation, Question
from codenav.execution import Execution
from codenav.planner.keeping import MARK
from codenav.signatures.names import parts

SPOILING = frozenset(
    ("save", "write", "dump", "export", "store", "remove", "delete", "unlink", "truncate", "overwrite", "rename", "set",
     "unset", "create", "clear", "touch", "move")
)  # fmt: skip
"""Words in the names of what may write to a file or remove it."""


class Guard:
    """Keeps the files of the work folder in the sandbox's memory, and puts back what a tried call has changed."""

    def __init__(self, names: Collection[str]) -> None:
        """`names`: of the files; how much of them is kept: `keeping.ROOM`."""
        self._names = frozenset(names)
        self._keeps = False

    def begin(self) -> Generator[Action, Observation, None]:
        """Before the first call, and again where the sandbox has lost its state."""
        if self._names and not self._keeps:
            self._keeps = True
            names = json.dumps(sorted(self._names))
            code = f"_codenav_files = {{}}\nexec({_script()!r}, _codenav_files)\n_codenav_files['keep']({names})"
            yield Question(code, thought="Keep what the files of the work folder hold.")

    def lost(self) -> None:
        """The sandbox was started again."""
        self._keeps = False

    def after(self, name: str, execution: Execution | None) -> Generator[Action, Observation, tuple[str, ...]]:
        """The files that a call has changed or removed, which are as before by now; `name`: what was called."""
        if execution is None or not self._keeps:
            return ()
        if not (self._names.intersection(execution.files) or SPOILING.intersection(parts(name))):
            return ()
        observed = yield Question("_codenav_files['put_back']()", thought="Put back what the call has changed.")
        stdout = observed.execution.stdout if isinstance(observed, CodeObservation) else ""
        for line in stdout.splitlines():
            if line.startswith(MARK):
                return tuple(json.loads(line.removeprefix(MARK)))
        return ()


@cache
def _script() -> str:
    return resources.files("codenav.planner").joinpath("keeping.py").read_text(encoding="utf-8")
