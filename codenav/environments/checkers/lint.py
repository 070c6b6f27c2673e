"""The checker flake8, for faults of a step only. Runs in a process of its own (`serve.py`)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from codenav.environments.checkers.answers import Answer, Past, Remark
from codenav.environments.checkers.history import History
from codenav.environments.checkers.names import PROVIDED, bindings, read

REPORTED = frozenset({
    "F404", "F407", "F501", "F502", "F503", "F505", "F506", "F507", "F508", "F509", "F521", "F524", "F525", "F601",
    "F602", "F631", "F632", "F633", "F634", "F702", "F704", "F706", "F707", "F821", "F822", "F823", "F901",
})  # fmt: skip
"""The faults among flake8's codes (flake8 7, "Error / Violation Codes"): code that raises or does not do what it says.

Left out: what is no fault in a step, since a later one may use the name (F401 unused import, F841 unused variable,
F811 redefinition, F403 and F405 star imports, F402), style (F541, E, W, C), superfluous arguments of a format (F504,
F522, F523), and F722, which takes the shapes in `Float[Array, "b c"]` for broken annotations. E999 (syntax) comes
from the compiler, as in flake8.
"""


class Lint:
    """flake8's own checker for its F codes (pyflakes), called directly.

    flake8's own entry point looks for configuration and plugins in the current folder and above it; the checker
    underneath reads nothing but the code.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from flake8.plugins.pyflakes import FLAKE8_PYFLAKES_CODES  # type: ignore[import-untyped]
        from pyflakes.checker import Checker  # type: ignore[import-untyped]

        self._codes, self._checker = FLAKE8_PYFLAKES_CODES, Checker
        self._newest = (settings["version"][0], settings["version"][1])
        self._history = History(self._newest)

    def check(self, code: str) -> Answer:
        """The faults of a step, by line."""
        history = self._history
        try:
            tree = read(code, newest=self._newest)
            messages = self._messages(tree)
        except UNREADABLE as error:
            return unreadable(error, self._newest, "E999")
        awaited = {(node.lineno, node.col_offset) for node in ast.walk(tree) if isinstance(node, ast.Await)}
        # Top-level `await`, which pyflakes takes for a `yield`.
        messages = [
            message
            for message in messages
            if not (type(message).__name__ == "YieldOutsideFunction" and (message.lineno, message.col) in awaited)
        ]
        guess = history.open or bindings(tree).dynamic
        remarks = [
            Remark(self._codes[type(message).__name__], message.message % message.message_args, message.lineno)
            for message in messages
            if type(message).__name__ in self._codes
        ]
        return Answer([r for r in remarks if r.code in REPORTED and not (guess and r.code in ("F821", "F822"))])

    def _messages(self, tree: ast.Module) -> list[Any]:
        if self._history.postponed:
            future = ast.ImportFrom("__future__", [ast.alias("annotations", lineno=1, col_offset=0)], 0)
            tree.body.insert(0, ast.copy_location(future, ast.expr(lineno=1, col_offset=0)))
        checked = self._checker(tree, filename="<step>", builtins=self._history.names | PROVIDED)
        return sorted(checked.messages, key=lambda message: (message.lineno, message.col))

    def remember(self, steps: Sequence[Past]) -> None:
        """Add the bindings of steps that ran."""
        for step in steps:
            self._history.add(self._history.examine(step))


UNREADABLE = (SyntaxError, RecursionError, MemoryError)
"""Errors that `read` raises, and pyflakes on code nested more deeply than its stack."""


def unreadable(error: BaseException, newest: tuple[int, int], code: str) -> Answer:
    """The remark for code that does not parse; a failure where only this interpreter cannot parse it."""
    own = sys.version_info[:2]
    if not isinstance(error, SyntaxError):
        return Answer(failure=f"the code is too deeply nested ({type(error).__name__})")
    if newest > own:
        return Answer(
            failure=f"Python {own[0]}.{own[1]}, which runs the checkers, cannot read this code "
            f"of Python {newest[0]}.{newest[1]}: {error.msg} (line {error.lineno})"
        )
    return Answer([Remark(code, f"{type(error).__name__}: {error.msg}", error.lineno or 1)])
