"""The names that a step binds and mentions."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

_WORD = re.compile(r"[^\W\d]\w*")
PROVIDED = frozenset({"display", "_", "call_host", "HostCallError"})
"""Names that a sandbox provides to all steps."""
_DYNAMIC = frozenset({"exec", "globals", "locals", "run_line_magic", "run_cell_magic"})
"""Names with which a step can bind further names that no reader sees."""


def read(code: str, *, newest: tuple[int, int]) -> ast.Module:
    """Parse a step as the language version that runs it would, as far as this interpreter knows that version.

    Raises:
        SyntaxError: with its line; also for a null byte or a lone surrogate, as in the sandbox.
        RecursionError, MemoryError: the code is nested too deeply for CPython's parser.
    """
    for number, line in enumerate(code.split("\n"), 1):
        if "\0" in line:
            raise SyntaxError("source code cannot contain null bytes", ("<step>", number, line.index("\0") + 1, ""))
    try:
        code.encode("utf-8")
    except UnicodeEncodeError as error:
        number = code.count("\n", 0, error.start) + 1
        raise SyntaxError("source code cannot contain lone surrogates", ("<step>", number, 1, "")) from None
    tree = ast.parse(code, "<step>", feature_version=newest)
    # Some faults are found only after parsing: `return` outside a function, two equal arguments.
    compile(code, "<step>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True, optimize=0)
    return tree


def words(code: str) -> set[str]:
    """Every identifier in the text, also within strings, since annotations may be strings."""
    return set(_WORD.findall(code))


@dataclass
class Bindings:
    """The effects of the top level of one step on the names of the session."""

    assigned: set[str] = field(default_factory=set)
    """Bound by an assignment, a loop, `with`, `:=`, `match`: the type may change each time."""
    defined: set[str] = field(default_factory=set)
    """Bound by `def`, `class` and `import`."""
    from_functions: set[str] = field(default_factory=set)
    """Declared `global` in a function."""
    deleted: set[str] = field(default_factory=set)
    """Deleted, and not bound again, by the end of the step."""
    submodules: dict[str, set[str]] = field(default_factory=dict)
    """`import a.b` binds `a` and loads `a.b`: `{"a": {"a.b"}}`."""
    set_attributes: set[str] = field(default_factory=set)
    """Attributes set on something other than `self`: `figure.title = …`."""
    star: bool = False
    """True with `from m import *`."""
    dynamic: bool = False
    """True if `exec`, `globals()` or the like is mentioned: names may exist that no reader sees."""
    postponed: bool = False
    """True with `from __future__ import annotations`."""

    @property
    def bound(self) -> set[str]:
        """All names that the step binds and that exist after it."""
        return (self.assigned | self.defined | self.from_functions) - self.deleted


def bindings(tree: ast.Module) -> Bindings:
    """The bindings of a step, found without recursion: a step may be nested as deeply as the parser allows."""
    found = Bindings()
    queue: list[tuple[ast.AST, bool]] = [(tree, True)]
    while queue:
        node, top = queue.pop()
        _note(found, node, top)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            outer, inner = _split(node)
            queue.extend((child, top) for child in outer)
            queue.extend((child, False) for child in inner)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            # The loop variables belong to the comprehension; names that `:=` binds inside it do not.
            queue.extend((child, False) for child in ast.iter_child_nodes(node))
            if top:
                found.assigned |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            # `x: int` alone binds nothing.
            queue.append((node.annotation, top))
        else:
            queue.extend((child, top) for child in ast.iter_child_nodes(node))
    # In source order, and at the top level only: elsewhere it is unknown whether a `del` runs.
    for statement in tree.body:
        if found.deleted or isinstance(statement, ast.Delete):
            found.deleted = (found.deleted - _bound_by(statement)) | _deleted(statement)
    return found


def _split(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda,
) -> tuple[list[ast.AST], list[ast.AST]]:
    """The children that belong to the enclosing scope (decorators, defaults), and those of the new scope."""
    inner: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    own = {id(child) for child in inner}
    return [child for child in ast.iter_child_nodes(node) if id(child) not in own], inner


def _note(found: Bindings, node: ast.AST, top: bool) -> None:
    if isinstance(node, ast.Name):
        if top and isinstance(node.ctx, ast.Store):
            found.assigned.add(node.id)
        found.dynamic |= node.id in _DYNAMIC
    elif isinstance(node, ast.Attribute):
        if isinstance(node.ctx, ast.Store) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            found.set_attributes.add(node.attr)
        found.dynamic |= node.attr in _DYNAMIC
    elif isinstance(node, ast.Call):
        found.set_attributes |= _named_in_setattr(node)
    elif isinstance(node, ast.Global):
        found.from_functions.update(node.names)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        _note_import(found, node, top)
    elif top and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        found.defined.add(node.name)
    elif top and isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        found.assigned.add(node.name)
    elif top and isinstance(node, ast.MatchMapping) and node.rest:
        found.assigned.add(node.rest)


def _named_in_setattr(call: ast.Call) -> set[str]:
    if isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == 3:
        name = call.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return {name.value}
    return set()


def _note_import(found: Bindings, node: ast.Import | ast.ImportFrom, top: bool) -> None:
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        found.postponed |= any(alias.name == "annotations" for alias in node.names)
    for alias in node.names:
        name = alias.asname or alias.name.split(".")[0]
        if alias.name == "*":
            found.star = True
        elif top:
            found.defined.add(name)
            if "." in alias.name and not alias.asname:
                found.submodules.setdefault(name, set()).add(alias.name)


def _bound_by(statement: ast.stmt) -> set[str]:
    part = Bindings()
    for node in ast.walk(statement):
        _note(part, node, True)
    return part.assigned | part.defined


def _deleted(statement: ast.stmt) -> set[str]:
    if not isinstance(statement, ast.Delete):
        return set()
    return {target.id for target in statement.targets if isinstance(target, ast.Name)}
