"""Steps as plain Python: features that only a sandbox or a notebook has are written out."""

from __future__ import annotations

import ast
import textwrap

from codenav.core.system.syntax import parsed
from codenav.episodes.code import bound_names
from codenav.episodes.needs import joined

_DISPLAY = '''\
def display(*values):
    """Prints what a notebook shows."""
    for value in values:
        print(repr(value))
'''
_AWAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)


def as_script(code: str) -> str:
    """The same code for an interpreter of its own: top-level `await` inside a coroutine, `display` as a function.

    A script that awaits is generated from its syntax tree, without its comments.
    """
    tree = parsed(code)
    if tree is None:
        return code
    if any(map(awaits, tree.body)):
        code = _in_coroutine(tree)
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if "display" in named - {name for node in tree.body for name in bound_names(node)}:
        return joined(code, _DISPLAY)
    return code


def awaits(node: ast.AST) -> bool:
    """True if a statement awaits in its own scope."""
    if isinstance(node, _AWAITS) or (isinstance(node, ast.comprehension) and node.is_async):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return False
    return any(map(awaits, ast.iter_child_nodes(node)))


def _in_coroutine(tree: ast.Module) -> str:
    """The script with all but its leading docstring and imports in one coroutine; the names stay global."""
    first = next(at for at, node in enumerate(tree.body) if not _is_leading(node))
    head, body = tree.body[:first], tree.body[first:]
    stars = [node for node in body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    body = [_Awaiting().visit(_without_annotation(node)) for node in body if node not in stars]
    names = sorted({name for node in body for name in bound_names(node)})
    before = "\n".join(map(ast.unparse, [*head, *stars]))
    inside = "\n".join([f"global {', '.join(names)}"] * bool(names) + [ast.unparse(node) for node in body])
    start = "import asyncio as _codenav_asyncio"
    run = "_codenav_asyncio.run(_codenav_main())"
    return f"{before}\n{start}\n\n\nasync def _codenav_main():\n{textwrap.indent(inside, '    ', _always)}\n\n\n{run}\n"


class _Awaiting(ast.NodeTransformer):
    """Awaits what a step ran in an event loop of its own: in the coroutine of the script there is one already."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if node.args and (name == "asyncio.run" or name.endswith(".run_until_complete")):
            return ast.Await(node.args[0])
        return node

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _leave


def _always(line: str) -> bool:
    return bool(line.strip())


def _is_leading(node: ast.stmt) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.Import | ast.ImportFrom)


def _without_annotation(node: ast.stmt) -> ast.stmt:
    """The statement without its annotation: an annotated name cannot be declared global."""
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return node
    if node.value is None:
        return ast.copy_location(ast.Pass(), node)
    return ast.copy_location(ast.Assign([node.target], node.value), node)
