"""The two lines above a step under mypy that import the names of earlier steps."""

from __future__ import annotations

from codenav.environments.checkers.answers import Past, Trust
from codenav.environments.checkers.history import History, Learnt
from codenav.environments.checkers.names import Bindings, words

STEP = "codenav_step"
PAST = "codenav_past_"
_END = "codenav_end_"
_WAS = "codenav_was_"
_UNKNOWN = "codenav_unknown"
"""A module that does not exist: mypy gives everything imported from it the type Any, also as a type."""
LINES = 2
"""Lines of the prelude. Not one: in line 1 or 2 of the file, a comment of the step could set its encoding (PEP 263)."""


class Origins:
    """The module that bound each name last."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._origins: dict[str, tuple[str, str] | None] = {}
        """For each name: the module and the name in it; None if the type is unknown."""
        self._submodules: dict[str, set[str]] = {}
        self._count = 0

    def prelude(self, code: str, bound: Bindings) -> str:
        """The prelude for a step with these bindings."""
        known = (self._history.names & words(code)) | bound.from_functions
        parts = [part for name in sorted(known - bound.defined) for part in self._bring(name, bound)]
        future = "from __future__ import annotations" if self._history.postponed else ""
        return f"{future}\n{'; '.join(parts)}\n"

    def _bring(self, name: str, bound: Bindings) -> list[str]:
        if name in bound.from_functions:
            # Some function assigns it, at an unknown time.
            return ["import typing as codenav_typing", f"{name}: codenav_typing.Any = ..."]
        origin = self._origins.get(name)
        if origin is None or bound.star:
            return [f"from {_UNKNOWN} import {name}"]
        module, there = origin
        if name in bound.assigned:
            # A variable may change its type; an imported name may not.
            return [f"from {module} import {there} as {_WAS}{name}", f"{name} = {_WAS}{name}"]
        if name in self._submodules:
            return [f"import {submodule}" for submodule in sorted(self._submodules[name])]
        return [f"from {module} import {there} as {name}"]

    def remember(self, step: Past) -> tuple[str, str] | None:
        """The name and the text of the module for a step that ran; None if its types stay unknown."""
        learnt = self._history.examine(step)
        made = None
        if learnt is not None and step.trust is Trust.WHOLE:
            self._count += 1
            made = (f"{PAST}{self._count}", self._module(learnt))
        self._history.add(learnt)
        if learnt is not None:
            self._note(learnt, made[0] if made else None)
        return made

    def _module(self, learnt: Learnt) -> str:
        """The text of the module: the step between its prelude and the final types of its variables."""
        bound = learnt.bindings
        ends = [f"{_END}{name} = {name}" for name in sorted(self._variables(bound))]
        return "\n".join((self.prelude(learnt.source, bound) + learnt.source, *ends, ""))

    @staticmethod
    def _variables(bound: Bindings) -> set[str]:
        return bound.assigned - bound.defined - bound.deleted - bound.from_functions

    def _note(self, learnt: Learnt, module: str | None) -> None:
        bound = learnt.bindings
        if bound.star:
            # The star import may have bound any of these names again.
            self._origins = dict.fromkeys(self._origins)
        for name in bound.bound:
            self._submodules.pop(name, None)
            known = module is not None and name not in bound.from_functions
            there = _END + name if name in self._variables(bound) else name
            self._origins[name] = (module, there) if known and module else None
        self._submodules.update(bound.submodules)
        self._origins.update(dict.fromkeys(learnt.doubtful))
