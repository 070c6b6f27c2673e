"""Sentences on what to do instead, for code that expects a terminal or a notebook."""

from __future__ import annotations

import io
import re
import sys
from types import FunctionType
from typing import Any

NOBODY = "nobody is at the keyboard here: write the value into the code, or ask for it with an ask action"
_MAGIC = re.compile(r"\s*(?:[\w.,\s\[\]]+=\s*)?(?:(?:%%?|!(?=pip|conda))(\w+)|(!)|(\?\??)\s*\w)|\s*[\w.]+(\?\??)\s*$")
_TIMED = "time.perf_counter() before and after"
_SHELL = "subprocess.run('…', shell=True)"
_WAYS = {
    "timeit": "timeit.timeit(lambda: …, number=100)",
    "time": _TIMED,
    "matplotlib": "to leave it out: figures are shown as they are",
    "pylab": "to leave it out: figures are shown as they are",
    "pip": "to import what is installed: nothing can be added with pip",
    "conda": "to import what is installed: nothing can be added with conda",
    "autoreload": "importlib.reload(module)",
    "load_ext": "to leave it out, or importlib.reload(module)",
    "cd": "os.chdir('…')",
    "env": "os.environ",
    "run": "runpy.run_path('…')",
    "writefile": "open('…', 'w').write('…')",
    "who": "dir()",
    "whos": "dir()",
    "prun": "cProfile.run('…')",
    "debug": "the traceback of the error",
    "?": "help(name)",
    "??": "inspect.getsource(name)",
}


def magic(line: str) -> str:
    """The sentence for a line that is a magic of notebooks; empty for another one."""
    found = _MAGIC.match(line)
    if found is None:
        return ""
    name = next(part for part in found.groups() if part)
    return f"no notebook magics here, the Python way is {_WAYS.get(name, _SHELL)}"


class Nobody(io.FileIO):
    """The raw stream below `sys.stdin`."""

    def readinto(self, *_: Any) -> Any:
        """Say that there is nothing to read."""
        raise EOFError(NOBODY)

    readall = readinto


def refuse_password(*_: Any, **__: Any) -> str:
    """Say that nobody can give one, in the place of `getpass.getpass`."""
    raise EOFError(NOBODY)


def refuse_debugger(*_: Any, **__: Any) -> None:
    """Say that nobody can use one, in the place of `breakpoint()`."""
    raise EOFError("nobody is at the keyboard here: print what is to be looked at, instead of a breakpoint")


def reduce_for_children(pickler: Any, one: Any) -> Any:
    """Refuse at once what a step defines and a fresh interpreter would look for in its own `__main__`, for ever.

    For `multiprocessing.reduction.ForkingPickler`, as its `reducer_override`.
    """
    if isinstance(one, (type, FunctionType)) and one.__module__ == "__main__" and _children_are_fresh():
        raise RuntimeError(
            f"{one.__qualname__} is defined in a step, from which a new interpreter (spawn, forkserver) cannot import: "
            "use multiprocessing.get_context('fork'), or write it to a file of the work folder and import it"
        )
    return NotImplemented


def _children_are_fresh() -> bool:
    starting = sys.modules["multiprocessing.context"].get_spawning_popen()
    if starting is not None:
        return bool(starting.method != "fork")
    methods = {child._popen.method for child in sys.modules["multiprocessing.process"]._children if child._popen}
    return bool(methods) and "fork" not in methods
