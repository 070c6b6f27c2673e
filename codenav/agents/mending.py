"""Mends by rule of a model's code. Code whose names are all bound stays as it is."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Sequence

from codenav.actions import Offer
from codenav.execution import ExecutionError

MENDED = "Mended by rule: {}."
"""What the record says of a mend, beside the thought of the model."""

_WRITES = re.compile(
    r"(write|save|dump)\w*$|^to_(csv|excel|parquet|feather|pickle|hdf|stata|sql|file|disk)$|^(open|touch|copy|move|rename|mkdir|unlink|remove|rmtree)$|write$"
)


_ITERATOR = re.compile(
    r"<(?:generator|map|filter|zip|enumerate|reversed|itertools\.\w+|\w*[Ii]terator)\b.* at 0x[0-9a-f]+>$"
)


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of code; None if it is no Python."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def with_imports(code: str, offers: Sequence[Offer], bound: Collection[str]) -> tuple[str, list[str]]:
    """The code with the import lines of offered names that it uses and nothing binds; and these lines.

    `bound`: names that earlier steps have bound.
    """
    tree = parsed(code)
    if tree is None:
        return code, []
    missing = _used(tree) - set(_bound(tree)) - set(bound) - set(dir(builtins))
    lines: dict[str, None] = {}
    for name in sorted(missing):
        offered = next((offer.import_line for offer in offers if offer.name == name), "")
        roots = {offer.import_line.split()[1].split(".")[0] for offer in offers}
        line = offered or (f"import {name}" if name in roots else "")
        if line:
            lines[line] = None
    return "\n".join([*lines, code]) if lines else code, list(lines)


def with_offered_modules(code: str, error: ExecutionError, offers: Sequence[Offer]) -> str:
    """Code that failed at an import, with the offered names imported as they are offered; as it was if none is."""
    tree = parsed(code)
    if tree is None or error.type not in ("ImportError", "ModuleNotFoundError"):
        return code
    lines = code.split("\n")
    for node in reversed([node for node in tree.body if isinstance(node, ast.ImportFrom)]):
        by_name = {offer.name: offer.import_line for offer in offers if offer.import_line.startswith("from ")}
        wrong = [
            alias for alias in node.names if alias.name in by_name and f"from {node.module} " not in by_name[alias.name]
        ]
        if not wrong:
            continue
        named = [by_name[alias.name] + (f" as {alias.asname}" if alias.asname else "") for alias in wrong]
        others = [alias for alias in node.names if alias not in wrong]
        kept = [ast.unparse(ast.ImportFrom(node.module, others, node.level))] if others else []
        lines[node.lineno - 1 : node.end_lineno] = [*named, *kept]
    return "\n".join(lines)


def with_content_printed(code: str, printed: str) -> str:
    """Code that printed an iterator, with a list of what that yields; as it was if it printed anything else."""
    lines, tree = printed.strip().splitlines(), parsed(code)
    if not lines or not _ITERATOR.match(lines[-1]) or tree is None:
        return code
    match tree.body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Name("print"), args=[ast.expr() as value], keywords=[])) as node:
            rest = code.split("\n")[: node.lineno - 1]
            return "\n".join([*rest, f"print(list({ast.unparse(value)}))"])
    return code


def names_bound(code: str) -> set[str]:
    """The names that code binds at its top level or inside; none if it is no Python."""
    tree = parsed(code)
    return set(_bound(tree)) if tree else set()


def leaves_something(code: str) -> bool:
    """True if the code may write a file, so that it cannot be run a second time as if nothing had been."""
    tree = parsed(code)
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree else ()
    names = (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in called)
    return any(_WRITES.search(name) and not _reads(code, name) for name in names)


def _reads(code: str, name: str) -> bool:
    """True if a call of `open` in the code only reads: no mode is given that writes."""
    return name == "open" and not re.search(r"open\([^()\n]*,\s*(?:mode\s*=\s*)?['\"][^'\"]*[wax+]", code)


def _used(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Import() | ast.ImportFrom():
                if any(alias.name == "*" for alias in node.names):
                    # Whatever it is that they bind.
                    yield from _used(tree)
                yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
