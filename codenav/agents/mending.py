"""Mends by rule of a model's code. Code whose names are all bound stays as it is."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Sequence

from codenav.core.actions import CodeObservation, Offer, Step
from codenav.core.execution import ExecutionError
from codenav.core.system.syntax import parsed

MENDED = "Mended by rule: {}."
"""What the record says of a mend, beside the thought of the model."""

_WRITES = re.compile(
    r"(write|save|dump)\w*(?<!dumps)$|^to_(csv|excel|parquet|feather|pickle|hdf|stata|sql|file|disk)$|^(open|touch|move)$"
    r"|^(rename|mkdir|makedirs|unlink|remove|rmtree|extractall|system|popen|Popen|check_call)$|^copy(2|file|tree)?$"
)
_MODE = re.compile(r"[rbtU]*[wax+][rwaxbtU+:|\w]*")
_ITERATOR = re.compile(
    r"<(?:generator|map|filter|zip|enumerate|reversed|itertools\.(?!count|cycle|repeat)\w+|\w*[Ii]terator)\b"
    r".* at 0x[0-9a-f]+>$"
)


def with_imports(code: str, offers: Sequence[Offer], bound: Collection[str]) -> tuple[str, list[str]]:
    """The code with the import lines of offered names that it uses and nothing binds; and these lines.

    `bound`: names that earlier steps have bound; with `*` among them nothing is known to be missing.
    """
    tree = parsed(code)
    if tree is None or "*" in {*bound, *_bound(tree)}:
        return code, []
    missing = _used(tree) - set(_bound(tree)) - set(bound) - set(dir(builtins))
    lines: dict[str, None] = {}
    for name in sorted(missing):
        offered = next((offer.import_line for offer in offers if offer.name == name), "")
        roots = {offer.import_line.split()[1].split(".")[0] for offer in offers}
        line = offered or (f"import {name}" if name in roots else "")
        if line:
            lines[line] = None
    if not lines:
        return code, []
    # Python wants `from __future__` first.
    futures = (node.end_lineno or 0 for node in tree.body if isinstance(node, ast.ImportFrom) and _is_future(node))
    rows, first = code.split("\n"), max(futures, default=0)
    return "\n".join([*rows[:first], *lines, *rows[first:]]), list(lines)


def with_offered_modules(code: str, error: ExecutionError, offers: Sequence[Offer]) -> str:
    """Code that failed at an import, with the offered names of that import as they are offered.

    As it was if none is offered, or if something was called before, which would run twice.
    """
    tree = parsed(code)
    if tree is None or error.type not in ("ImportError", "ModuleNotFoundError"):
        return code
    lines, failed = code.split("\n"), error.line_number or 0
    node = next((one for one in tree.body if (one.end_lineno or 0) >= failed), None)
    if not isinstance(node, ast.ImportFrom) or node.end_lineno is None or node.lineno > failed:
        return code
    before = (one for around in tree.body[: tree.body.index(node)] for one in ast.walk(around))
    behind = lines[node.end_lineno - 1].encode()[node.end_col_offset :].partition(b"#")[0].strip()
    if node.col_offset or behind or any(isinstance(one, ast.Call) for one in before):
        return code
    # The first offer of a name is the best one.
    by_name = {one.name: one.import_line for one in reversed(offers) if one.import_line.startswith("from ")}
    wrong = [one for one in node.names if f"from {node.module} " not in by_name.get(one.name, f"from {node.module} ")]
    if not wrong:
        return code
    named = [by_name[one.name] + (f" as {one.asname}" if one.asname else "") for one in wrong]
    others = [one for one in node.names if one not in wrong]
    kept = [ast.unparse(ast.ImportFrom(node.module, others, node.level))] if others else []
    lines[node.lineno - 1 : node.end_lineno] = [*named, *kept]
    return "\n".join(lines)


def with_content_printed(code: str, printed: str) -> str:
    """The print of a list, for code whose last print was of an iterator; the code if it printed anything else.

    Nothing but the print is run again: the code may have left something.
    """
    lines, tree = printed.strip().splitlines(), parsed(code)
    if not lines or not _ITERATOR.match(lines[-1]) or tree is None:
        return code
    match tree.body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Name("print"), args=[ast.expr() as value], keywords=[])):
            return f"print(list({ast.unparse(value)}))"
    return code


def names_bound(code: str) -> set[str]:
    """The names that code binds at its top level or inside, `*` for an import of everything; none if no Python."""
    tree = parsed(code)
    return set(_bound(tree)) if tree else set()


def names_left(steps: Sequence[Step]) -> set[str]:
    """The names that steps have bound; one that failed those up to there, unless all drafts of it were undone."""
    names: set[str] = set()
    for step in steps:
        seen = step.observation
        tree = parsed(step.action.content) if isinstance(seen, CodeObservation) else None
        if not isinstance(seen, CodeObservation) or tree is None or (seen.drafts and not seen.ok):
            continue
        if seen.execution.error and (failed := seen.execution.error.line_number):
            tree.body = [
                node for node in tree.body
                if (node.end_lineno or 0) < failed
                or (node.lineno <= failed and not isinstance(node, ast.Import | ast.ImportFrom))
            ]  # fmt: skip
        names.update(_bound(tree))
    return names


def leaves_something(code: str) -> bool:
    """True if the code may write a file, so that it cannot be run a second time as if nothing had been."""
    tree = parsed(code)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
    return any(_WRITES.search(_last_name(call.func)) and not _reads(call) for call in calls)


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _reads(call: ast.Call) -> bool:
    """True for a call of `open` that only reads: no argument is a mode that writes, or may be one."""
    if _last_name(call.func) != "open":
        return False
    modes = [
        *call.args[isinstance(call.func, ast.Name) :][:2],
        *(one.value for one in call.keywords if one.arg == "mode"),
    ]
    return all(isinstance(one, ast.Constant) and not _MODE.fullmatch(str(one.value)) for one in modes)


def _is_future(node: ast.ImportFrom) -> bool:
    return node.module == "__future__"


def _used(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id
            case ast.alias():
                yield (node.asname or node.name).split(".")[0]
            case ast.arg(arg=name) | ast.MatchMapping(rest=str(name)):
                yield name
            case _ if isinstance(named := getattr(node, "name", None), str):
                # Functions, classes, their type parameters, handlers of exceptions, patterns.
                yield named
