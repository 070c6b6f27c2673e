"""The flow of data through code, found by reading it: what each statement binds, uses, prints and writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from codenav.core.system.syntax import parsed

PRINTS = frozenset({"print", "pprint", "pp", "display"})
_WRITES = re.compile(r"(write|save|dump|to_)\w*$|^(open|touch|copy|move|rename|mkdir|unlink|remove)$|write$")
OUT, FILES = "(printed in step {})", "(files)"
"""Nodes of the flow beside the names; no valid name looks like them."""
OURS = "_codenav"
"""Prefix of the names in code that codenav itself runs in a sandbox."""


def printed(code: str, stdout: str) -> str:
    """The output of code, without the count of characters that a final call of `write` and the like displays."""
    tree = parsed(code)
    last = tree.body[-1] if tree and tree.body else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and _WRITES.search(last_name(last.value.func)):
        before, _, count = stdout.rstrip("\n").rpartition("\n")
        return before if count.isdigit() else stdout
    return stdout


@dataclass(frozen=True)
class Statement:
    """A top-level statement of a step."""

    step: int
    node: ast.stmt
    binds: frozenset[str]
    changes: frozenset[str]
    """Names whose values it may have changed in place."""
    uses: frozenset[str]
    prints: bool
    writes: bool


@dataclass
class Flow:
    """The statements of the steps that ran, and the names and outputs that were made from each name."""

    statements: list[Statement] = field(default_factory=list)
    after: dict[str, set[str]] = field(default_factory=dict)
    passing: set[str] = field(default_factory=set)
    """Names that only `for` and `with` statements bind."""

    @classmethod
    def of(cls, codes: Sequence[str]) -> Flow:
        """The flow through steps, in order. A step that cannot be read, or that codenav itself ran, is skipped."""
        flow = cls()
        lasting: set[str] = set()
        for number, code in enumerate(codes):
            tree = parsed(code)
            if tree is None or OURS in code:
                continue
            quiet = code.rstrip().endswith(";")
            for node in tree.body:
                shown = isinstance(node, ast.Expr) and node is tree.body[-1] and not quiet
                statement = _statement(number, node, shown)
                flow.statements.append(statement)
                flow._join(statement)
                loop = set(_targets_of_loops(node))
                flow.passing |= loop
                lasting |= statement.binds - loop
        flow.passing -= lasting
        return flow

    def _join(self, statement: Statement) -> None:
        made = set(statement.binds | statement.changes)
        if statement.prints:
            made.add(OUT.format(statement.step))
        if statement.writes:
            made.add(FILES)
        for name in statement.uses:
            self.after.setdefault(name, set()).update(made - {name})

    def made_from(self, name: str) -> set[str]:
        """All names and outputs that were made from a name, directly or not, and the name itself."""
        seen, queue = {name}, [name]
        while queue:
            for following in self.after.get(queue.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
        return seen

    @cached_property
    def bound(self) -> set[str]:
        """Every name that a statement binds."""
        return {name for statement in self.statements for name in statement.binds}

    def last_step_that_binds(self) -> int:
        """The number of the last step that bound a name other than a loop variable; -1 where none did."""
        return max((one.step for one in self.statements if one.binds - self.passing), default=-1)

    def last_step_that_makes(self) -> int:
        """The number of the last step that bound or changed data, or wrote a file; -1 where none did."""
        silent = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        made = (one for one in self.statements if not isinstance(one.node, silent))
        return max((one.step for one in made if one.binds or one.changes or one.writes), default=-1)

    def bound_in(self, step: int) -> set[str]:
        """Names that a step bound or changed."""
        return {name for one in self.statements if one.step == step for name in one.binds | one.changes}

    def calls_for(self, name: str) -> set[str]:
        """The names of the functions called in the statements that bind a name."""
        return self._calls.get(name, set())

    @cached_property
    def _calls(self) -> dict[str, set[str]]:
        calls: dict[str, set[str]] = {}
        for one in self.statements:
            called = set(called_in(one.node)) if one.binds else set[str]()
            for name in one.binds:
                calls.setdefault(name, set()).update(called)
        return calls


def called_in(node: ast.AST) -> Iterator[str]:
    """The last names of the functions called in a node, and the types of its operators and comprehensions."""
    for child in ast.walk(node):
        if isinstance(child, ast.Call):
            yield last_name(child.func)
        elif isinstance(child, ast.BinOp):
            yield type(child.op).__name__
        elif isinstance(child, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Subscript):
            yield type(child).__name__


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c`; empty where there is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def base_name(node: ast.AST) -> str:
    """`a` of `a.b[0].c`; empty where there is no name."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _statement(step: int, node: ast.stmt, shown: bool) -> Statement:
    binds = set(bound_names(node))
    changes, uses, prints, writes = set(), set(), shown, False
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            uses.add(child.id)
        elif isinstance(child, ast.Attribute | ast.Subscript) and isinstance(child.ctx, ast.Store | ast.Del):
            changes.add(base_name(child))
        elif isinstance(child, ast.AugAssign):
            uses.add(base_name(child.target))
        elif isinstance(child, ast.Call):
            name = last_name(child.func)
            prints |= name in PRINTS or "stdout" in ast.dump(child.func)
            writes |= bool(_WRITES.search(name))
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            call = child.value
            if last_name(call.func) not in PRINTS:
                changes.update(base_name(one) for one in (call.func, *call.args) if base_name(one))
    changes.discard("")
    return Statement(step, node, frozenset(binds), frozenset(changes - binds), frozenset(uses), prints, writes)


def bound_names(node: ast.AST) -> Iterator[str]:
    """Names that a statement binds in its own scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
        return
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from bound_names(child)


def _targets_of_loops(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        targets: Iterable[ast.AST | None] = ()
        if isinstance(child, ast.For | ast.AsyncFor):
            targets = [child.target]
        elif isinstance(child, ast.With | ast.AsyncWith):
            targets = [item.optional_vars for item in child.items]
        for target in targets:
            if target is not None:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def labels_of(codes: Iterable[str]) -> str:
    """The words of code that are not part of a result, joined: attributes, and texts that are printed or passed.

    Texts in lists, dicts and assignments are data.
    """
    found: list[str] = []
    for tree in filter(None, map(parsed, codes)):
        for node in ast.walk(tree):
            parts: Iterable[ast.AST] = ()
            if isinstance(node, ast.Call):
                parts = ast.walk(node) if last_name(node.func) in PRINTS else _arguments(node)
            elif isinstance(node, ast.JoinedStr):
                parts = node.values
            elif isinstance(node, ast.Subscript):
                parts = ast.walk(node.slice)
            elif isinstance(node, ast.Attribute):
                found.append(node.attr)
            found += [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return "\n".join(found)


def _arguments(call: ast.Call) -> list[ast.AST]:
    return [*call.args, *(one.value for one in call.keywords)]
