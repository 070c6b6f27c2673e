"""The names local to one block, read from its text: parameters, classes of variables, imports, lines of calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.system.syntax import statements
from codenav.navigation.imports import Import, imports_in

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OPTIONAL = re.compile(r"(?:typing\.)?Optional\[(.+)\]|(.+?)\s*\|\s*None|None\s*\|\s*(.+)")


@dataclass(slots=True)
class LocalNames:
    """The local names of a function or method."""

    bound: set[str] = field(default_factory=set)
    """Parameters and all names that the body binds."""
    classes: dict[str, str] = field(default_factory=dict)
    """Dotted name of the class of a name: from its annotation, or because every assignment to it calls that class."""
    annotated: set[str] = field(default_factory=set)
    """The names in `classes` whose class comes from an annotation."""
    imports: dict[str, Import] = field(default_factory=dict)


def local_names(block: CodeBlock) -> LocalNames:
    """The local names of a Python function or method; none for other blocks, whose names are the module's."""
    names = LocalNames()
    if block.kind not in (BlockKind.FUNCTION, BlockKind.METHOD) or block.language != "python":
        return names
    names.imports = imports_in(block.text)[0]
    function = function_in(statements(block.text))
    if function is None:
        return names
    arguments = function.args
    for argument in (
        *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
        *filter(None, (arguments.vararg, arguments.kwarg)),
    ):  # fmt: skip
        names.bound.add(argument.arg)
        plain = argument not in (arguments.vararg, arguments.kwarg)
        if plain and argument.annotation is not None and (dotted := _class_name(argument.annotation)):
            names.classes[argument.arg] = dotted
            names.annotated.add(argument.arg)
    _bindings(function, names)
    for imported in names.imports:
        names.bound.discard(imported)
        names.classes.pop(imported, None)
    return names


def call_lines(block: CodeBlock, call: str) -> list[int]:
    """The lines on which a block calls a name; its first line if its text does not show them."""
    first = block.lines.start
    if block.text.rstrip("\n").count("\n") != block.lines.end - first:
        # Bodies that are separate blocks are left out of the text, so its lines are not those of the file.
        return [first]
    name = r"\s*\.\s*".join(map(re.escape, call.strip(".").split(".")))
    before = r"(?<=[)\]}\"'])\s*\.\s*" if call.startswith(".") else r"(?<![\w.])(?<!def )(?<!class )"
    found = {block.text.count("\n", 0, match.start()) for match in re.finditer(rf"{before}{name}\s*\(", block.text)}
    decorators = {block.text.count("\n", 0, match.start()) for match in re.finditer(rf"@{name}\b", block.text)}
    return [first + line for line in sorted(found | decorators)] or [first]


def is_declaration(block: CodeBlock) -> bool:
    """True for a Python method whose body is `...` or `raise NotImplementedError`: another one is what runs."""
    if not any(mark in block.text for mark in ("...", "NotImplemented")):
        return False
    function = function_in(statements(block.text))
    body = [node for node in function.body if not _is_string(node)] if function else []
    return bool(body) and all(_is_no_code(node) for node in body)


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_no_code(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise) and node.exc is not None:
        return dotted_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) == "NotImplementedError"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _bindings(function: ast.AST, names: LocalNames) -> None:
    """Add all names that the body binds; a name that is only assigned calls of one other name has that as its class."""
    assigned: dict[str, set[str]] = {}
    for node in _inside(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            made = dotted_name(node.value.func) if isinstance(node.value, ast.Call) else ""
            assigned.setdefault(node.targets[0].id, set()).add(made)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assigned.setdefault(node.target.id, set()).add(_class_name(node.annotation))
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            # `__enter__` usually returns the object itself, but need not.
            assigned.setdefault(node.optional_vars.id, set()).add("")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.bound.add(node.id)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            names.bound.discard(node.name)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.bound.add(node.name)
    for name, makers in assigned.items():
        only = makers.pop() if len(makers) == 1 else ""
        if name in names.classes and only != names.classes[name]:
            # A parameter that is bound again: its annotation may no longer hold.
            names.classes.pop(name)
            names.annotated.discard(name)
        elif only and name not in names.bound:
            names.classes[name] = only
        names.bound.add(name)


def _inside(function: ast.AST) -> Iterator[ast.AST]:
    """All nodes below a function, except names that are targets of simple assignments or `with`, and annotations."""
    stack = list(ast.iter_child_nodes(function))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            stack.append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            stack += [node.value] if node.value else []
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            stack.append(node.context_expr)
        else:
            stack += ast.iter_child_nodes(node)


def function_in(body: Iterable[ast.stmt]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The first function among statements."""
    return next((node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)), None)


def signature_in(text: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function of a signature, with an empty body; None if it is none of Python."""
    return function_in(statements(f"{text.strip().rstrip(' :')}: ..."))


def dotted_name(node: ast.expr) -> str:
    """The dotted form of a name or a chain of attributes, `a.b.c`; empty for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _class_name(annotation: ast.expr) -> str:
    """The single class that an annotation names: `Graph`, `"Graph"`, `nx.Graph | None`, `Optional[Graph]`."""
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    if not isinstance(text, str):
        return ""
    match = _OPTIONAL.fullmatch(text.strip())
    inner = next(filter(None, match.groups())) if match else text
    inner = inner.strip().strip("'\"")
    return inner if all(part.isidentifier() for part in inner.split(".")) else ""
