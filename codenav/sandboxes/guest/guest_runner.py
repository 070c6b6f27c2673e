"""The code of a step, the module in which it runs, and the description of what it raised."""

from __future__ import annotations
import __future__

import ast
import builtins
import linecache
import os
import sys
from collections.abc import Mapping
from types import ModuleType, TracebackType
from typing import Any

from guest_hints import magic
from guest_output import plain

MESSAGE_CHARACTERS = 4000
TRACEBACK_CHARACTERS = 12000
"""Maximum characters kept of an error: what a model can use, and a bound on hostile messages."""

FUTURE = 0
for _name in __future__.all_feature_names:
    FUTURE |= getattr(__future__, _name).compiler_flag


HIDDEN = "_codenav_value"
"""The name that the last expression of a step is bound to, until it is shown."""

STEP_VALUE = "_codenav_told"
"""A name that code of the host binds to the value of its step, which is not shown."""


def enter(source: str, filename: str) -> None:
    """Make the lines of a step known to tracebacks.

    Raises what Python raises; the null byte and lone surrogates become a SyntaxError with their line.
    """
    lines = [line + "\n" for line in source.split("\n")]
    linecache.cache[filename] = (len(source), None, lines, filename)
    _refuse_unreadable(source, filename)


def _refuse_unreadable(source: str, filename: str) -> None:
    for number, line in enumerate(source.split("\n"), 1):
        if "\0" in line:
            raise SyntaxError("source code cannot contain null bytes", (filename, number, line.index("\0") + 1, ""))
    try:
        source.encode("utf-8")
    except UnicodeEncodeError as error:
        number = source.count("\n", 0, error.start) + 1
        raise SyntaxError("source code cannot contain lone surrogates", (filename, number, 1, "")) from None


def names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names bound at the top level, and the names mentioned anywhere."""
    binds: set[str] = set()
    mentions: set[str] = set()
    queue: list[tuple[ast.AST, bool]] = [(tree, True)]
    while queue:
        node, top = queue.pop()
        if isinstance(node, ast.Name):
            mentions.add(node.id)
            if top and isinstance(node.ctx, ast.Store) and node.id != HIDDEN:
                binds.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if top:
                binds.add(node.name)
            top = False
        elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            top = False
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and top:
            binds.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name and top:
            binds.discard(node.name)
        queue.extend((child, top) for child in ast.iter_child_nodes(node))
    return binds, mentions


_builtins = dict(builtins.__dict__)
_modules: dict[str, ModuleType] = {}


def provide(names: Mapping[str, Any]) -> None:
    """Make names known to all steps, as builtins."""
    _builtins.update(names)


def provide_module(module: ModuleType) -> None:
    """Make a module known to all imports, which is in no file."""
    _modules[module.__name__] = module
    sys.modules[module.__name__] = module


def fresh_main() -> ModuleType:
    """Make the module in which steps run; it takes the place of `__main__`, so that what they define can be pickled."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    mend(module)
    return module


def mend(module: ModuleType) -> None:
    """Put back what a step may have deleted and the next one cannot do without."""
    there = builtins.__dict__
    for name, value in _builtins.items():
        there.setdefault(name, value)
    sys.modules["__main__"] = module
    sys.modules.update(_modules)
    module.__dict__["__builtins__"] = builtins
    module.__dict__["__name__"] = "__main__"


def describe_error(error: BaseException, filename: str) -> dict[str, Any]:
    """The `error` of the result: bounded, without the frames of the guest, whatever the exception's own methods do."""
    kind = type(error)
    name = (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "." + kind.__qualname__
    )
    found: dict[str, Any] = {"type": name[:200], "message": _message(error), "line": "", "line_number": None}
    own = own_frames(error)
    if isinstance(error, SyntaxError) and error.filename == filename:
        number = error.lineno
    else:
        number = _last_line(own, filename)
    if isinstance(number, int) and number > 0:
        found["line_number"] = number
        found["line"] = linecache.getline(filename, number).strip()[:500]
        if isinstance(error, SyntaxError) and (hint := magic(linecache.getline(filename, number))):
            # In the error itself: a person reads the traceback, a model the message.
            error.msg = f"{error.msg}: {hint}"
            found["message"] = _message(error)
    found["traceback"] = _traceback(error, own)
    return found


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, SyntaxError):
            return str(error.msg)[:MESSAGE_CHARACTERS]
        return plain(str(error)[:MESSAGE_CHARACTERS])
    except BaseException as inner:
        return f"<the message cannot be made: {type(inner).__name__}>"


_GUEST = os.path.dirname(os.path.abspath(__file__)) + os.sep


def own_frames(error: BaseException) -> TracebackType | None:
    """A traceback without the frames of the guest: the outermost, and the innermost where SIGINT was answered."""
    first = trace = error.__traceback__
    while first is not None and not first.tb_frame.f_code.co_filename.startswith("<step "):
        first = first.tb_next
    # Frames of the event loop come before those of a step that awaits.
    trace = first or trace
    while trace is not None and _is_guest(trace):
        trace = trace.tb_next
    at = trace
    while at is not None and at.tb_next is not None:
        if _is_guest(at.tb_next):
            at.tb_next = None
        at = at.tb_next
    return trace


def _is_guest(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_GUEST)


def _last_line(trace: TracebackType | None, filename: str) -> int | None:
    number = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            number = trace.tb_lineno
        trace = trace.tb_next
    return number


def _traceback(error: BaseException, own: TracebackType | None) -> str:
    try:
        import traceback

        text = plain("".join(traceback.TracebackException(type(error), error, own, limit=-30).format()))
    except BaseException as inner:
        return f"<the traceback cannot be made: {type(inner).__name__}>"
    if len(text) > TRACEBACK_CHARACTERS:
        half = TRACEBACK_CHARACTERS // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
    return text
