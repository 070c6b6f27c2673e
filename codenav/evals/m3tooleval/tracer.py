"""The tracing of calls in an adapted code base: its text becomes the `__init__.py` of the package of tools.

It runs in the sandbox, with any Python from 3.8 on and the standard library alone. Each outermost call of a public
function or method is told to the host, through the builtin `call_host` that a sandbox with a handler has. Without the
builtin, and whatever goes wrong with it, the tools work as they are.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import json
import pkgutil
import threading
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

MOST = 900
"""Calls told by one process. A step may make 1,000 calls to the host."""
LONGEST = 20_000
"""Characters of one argument that is told as it is."""

_told = 0
_inside = threading.local()


def trace(package: str, folders: list[str]) -> None:
    """Import the modules of a package, and trace their public functions and the public methods of their classes."""
    for found in pkgutil.iter_modules(folders):
        _trace(importlib.import_module(f"{package}.{found.name}"))


def _trace(module: ModuleType) -> None:
    for name, value in list(vars(module).items()):
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            setattr(module, name, _traced(value))
        elif inspect.isclass(value):
            for own, method in list(vars(value).items()):
                if inspect.isfunction(method) and (own == "__init__" or not own.startswith("_")):
                    setattr(value, own, _traced(method, bound=1))


def _traced(function: Callable[..., Any], bound: int = 0) -> Callable[..., Any]:
    """The function, telling its outermost calls. `bound` arguments at the front are not told: `self`.

    A constructor tells nothing, but calls made by it are not the caller's.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if getattr(_inside, "call", False):
            return function(*arguments, **named)
        _inside.call = True
        try:
            if function.__name__ != "__init__":
                _tell(function.__name__, _by_name(signature, bound, arguments, named))
            return function(*arguments, **named)
        finally:
            _inside.call = False

    return call


def _by_name(
    signature: inspect.Signature, bound: int, arguments: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    try:
        return dict(list(signature.bind(*arguments, **named).arguments.items())[bound:])
    except TypeError:
        # The call does not fit the tool, which is about to say so itself.
        return {**{str(place): value for place, value in enumerate(arguments[bound:])}, **named}


def _tell(name: str, arguments: dict[str, Any]) -> None:
    global _told
    call_host = getattr(builtins, "call_host", None)
    if call_host is None or _told >= MOST:
        return
    _told += 1
    with suppress(Exception):
        call_host("eval.called", name=name, arguments={key: _plain(value) for key, value in arguments.items()})


def _plain(value: Any) -> Any:
    """The value if it is JSON of a size to be told, else its `repr`."""
    with suppress(Exception):
        if len(json.dumps(value, allow_nan=False)) <= LONGEST:
            return value
    with suppress(Exception):
        return repr(value)[:LONGEST]
    return f"<{type(value).__name__}>"
