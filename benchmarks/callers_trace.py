"""Runs a program and writes which definitions of a package its calls really ran; uses the standard library only.

    python benchmarks/callers_trace.py OUT ROOT (-m MODULE | SCRIPT) ARGUMENT…

OUT becomes a JSON list of rows: file of the call, line and column of its begin and of its end; file, name and first
line of the function that ran; file and qualified name of the class if it makes an object; and the number of functions
in between. Files are relative to the folder that ROOT is in; functions outside ROOT are left out.
"""

from __future__ import annotations

import dis
import inspect
import json
import os
import runpy
import signal
import sys
import threading
from types import CodeType, FrameType
from typing import NoReturn

WRAPPERS = 3
"""The most functions between a call and the decorated function that it means."""
_MAKERS = ("__init__", "__new__")
_CALLS = {dis.opmap[name] for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX") if name in dis.opmap}
"""Instructions of call expressions: `with`, `for` and operators run functions too."""

Row = tuple[str, int, int, int, int, str, str, int, str, str, int]


class Trace:
    """The calls inside a folder. To be given to `sys.setprofile`."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root) + os.sep
        self._inside: dict[int, CodeType | None] = {}
        """By their ids, as a hash of code is that of all its parts: the code of the folder, and None for other code."""
        self._kept: list[CodeType] = []
        self._homes: dict[type, str] = {}
        self._seen: set[tuple[int, int, int, str, str, int]] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Note a call."""
        if event != "call":
            return
        code, caller = frame.f_code, frame.f_back
        if caller is None or not self._is_inside(code):
            return
        made = self._made(frame) if code.co_name in _MAKERS else ("", "")
        for between in range(WRAPPERS):
            around = caller.f_code
            if self._is_inside(around):
                self._seen.add((id(around), caller.f_lasti, id(code), *made, between))
            # A closure may be what a decorator has put into the place of the function.
            closed = any(name != "__class__" for name in around.co_freevars)
            if not closed or around.co_name == code.co_name or caller.f_back is None:
                break
            caller = caller.f_back

    def _is_inside(self, code: CodeType) -> bool:
        number = id(code)
        if number not in self._inside:
            inside = os.path.realpath(code.co_filename).startswith(self._root)
            self._inside[number] = code if inside else None
            self._kept.append(code)
        return self._inside[number] is not None

    def _made(self, frame: FrameType) -> tuple[str, str]:
        """The file and the qualified name of the class of the object being made."""
        code = frame.f_code
        if not code.co_argcount:
            return "", ""
        first = frame.f_locals.get(code.co_varnames[0])
        kind = first if code.co_name == "__new__" and isinstance(first, type) else type(first)
        if kind not in self._homes:
            self._homes[kind] = _home(kind)
        return self._homes[kind], kind.__qualname__

    def rows(self) -> list[Row]:
        """The calls, sorted."""
        found: set[Row] = set()
        for caller_id, instruction, code_id, file, made, between in self._seen:
            caller, code = self._inside[caller_id], self._inside[code_id]
            if caller is None or code is None or not code.co_flags & inspect.CO_OPTIMIZED:
                continue
            position = list(caller.co_positions())[instruction // 2]
            line, end_line, column, end_column = (-1 if number is None else number for number in position)
            if caller.co_code[instruction] in _CALLS:
                place = (self._path(caller.co_filename), line, column, end_line, end_column)
                ran = (self._path(code.co_filename), code.co_name, code.co_firstlineno)
                found.add((*place, *ran, self._path(file), made.replace(".<locals>", ""), between))
        return sorted(found)

    def _path(self, file: str) -> str:
        """The path relative to the folder that the root is in; "" for a file outside the root."""
        path = os.path.realpath(file) if file else ""
        front = os.path.dirname(self._root.rstrip(os.sep)) + os.sep
        return path.removeprefix(front) if path.startswith(self._root) else ""


def _home(kind: type) -> str:
    """The file of a class: that of a method, as classes may be said to be of another module."""
    for item in vars(kind).values():
        code = getattr(item, "__code__", None)
        if code is not None and code.co_qualname.startswith(f"{kind.__qualname__}."):
            return str(code.co_filename)
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or ""


def main() -> None:
    """Run the program; what it ends with does not matter."""
    out, root, *command = sys.argv[1:]
    trace = Trace(root)
    as_module = command[0] == "-m"
    sys.argv = command[1:] if as_module else command
    sys.path[0] = os.getcwd() if as_module else os.path.dirname(os.path.abspath(command[0]))

    def finish(*_: object) -> NoReturn:
        sys.setprofile(None)
        with open(out, "w", encoding="utf-8") as file:
            json.dump(trace.rows(), file)
        os._exit(0)

    # What has run until the time is up counts too.
    signal.signal(signal.SIGTERM, finish)
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        if as_module:
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(command[0], run_name="__main__")
    except SystemExit as ended:
        print(f"ended with {ended.code}", file=sys.stderr)
    finally:
        finish()


if __name__ == "__main__":
    main()
