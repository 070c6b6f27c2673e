"""The names that earlier steps bound, as every checker of steps needs them."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass

from codenav.environments.checkers.answers import Past, Trust
from codenav.environments.checkers.names import Bindings, bindings, read


@dataclass(frozen=True)
class Learnt:
    """The part of a remembered step that was executed."""

    source: str
    """Whole lines; empty if nothing of the step can be read."""
    bindings: Bindings
    doubtful: frozenset[str]
    """Names that a statement may have bound before it raised."""


class History:
    """The names that a step may use without binding them."""

    def __init__(self, newest: tuple[int, int]) -> None:
        self.names: set[str] = set()
        self.set_attributes: set[str] = set()
        self.open = False
        """There may be names that are not in `names`: after a star import, `exec`, or a step that cannot be read."""
        self.postponed = newest >= (3, 14)
        """Annotations are not evaluated: after `from __future__ import annotations`, and since 3.14 (PEP 649)."""
        self._newest = newest

    def examine(self, step: Past) -> Learnt | None:
        """The bindings of a step that ran; None if they are unknown."""
        if step.trust is Trust.NOTHING:
            return None
        try:
            tree = read(step.code, newest=self._newest)
        except SyntaxError:
            # A newer Python may have run it; this version did not, and bound nothing.
            return None if self._newest > sys.version_info[:2] else Learnt("", Bindings(), frozenset())
        except (RecursionError, MemoryError):
            return None
        if step.failed_at is not None:
            return _until(tree, step.code, step.failed_at)
        return Learnt(step.code, bindings(tree), frozenset())

    def add(self, learnt: Learnt | None) -> None:
        """Add the bindings of a step."""
        if learnt is None:
            self.open = True
            return
        bound = learnt.bindings
        self.names = (self.names - bound.deleted) | bound.bound | learnt.doubtful
        self.set_attributes |= bound.set_attributes
        self.open |= bound.star or bound.dynamic
        self.postponed |= bound.postponed


def _until(tree: ast.Module, code: str, failed_at: int) -> Learnt:
    """The executed part of a step that raised an exception in line `failed_at`.

    If that line may belong to a function, the later line that called it is unknown.
    """
    whole: list[ast.stmt] = []
    doubtful: list[ast.stmt] = []
    for number, statement in enumerate(tree.body):
        if _end(statement) < failed_at:
            whole.append(statement)
            continue
        later = tree.body[number + 1 :] if _is_deferred(statement, failed_at) else []
        is_definition = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if later and is_definition:
            whole.append(statement)
            doubtful = later
        elif statement.lineno <= failed_at:
            doubtful = [statement, *later]
        break
    source = "\n".join(code.split("\n")[: _end(whole[-1]) if whole else 0])
    names = bindings(ast.Module(doubtful, [])).bound
    return Learnt(source, bindings(ast.Module(whole, [])), frozenset(names))


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _is_deferred(statement: ast.stmt, line: int) -> bool:
    deferred = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp)
    return any(
        isinstance(node, deferred) and node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(statement)
    )
