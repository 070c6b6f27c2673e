"""The tracing of calls in an adapted code base, in which this file lies beside the tools.

It runs in the sandbox, with any Python from 3.8 on and the standard library alone. Each outermost call of a public
function or method is reported to the host, through the builtin `call_host` that a sandbox with a handler has. Without
the builtin, and whatever goes wrong with it, the tools work as they are.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import json
import pkgutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

MOST = 900
"""Most calls that one process reports. A sandbox takes 1,000 a step, and the agent may make some too."""
LONGEST = 100_000
"""Most characters of an argument; a call to the host carries 1 MiB."""

_reported = 0
_inside = threading.local()


def trace(package: str, folders: list[str]) -> None:
    """Import the modules of a package, and trace their public functions and the public methods of their classes."""
    for found in pkgutil.iter_modules(folders):
        if not found.name.startswith("_"):
            _trace(importlib.import_module(f"{package}.{found.name}"))


def _trace(module: ModuleType) -> None:
    for name, value in list(vars(module).items()):
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            setattr(module, name, traced(value, name, bound=0))
        elif inspect.isclass(value):
            for own, method in list(vars(value).items()):
                if inspect.isfunction(method) and (own == "__init__" or not own.startswith("_")):
                    # A constructor tells nothing, but calls made by it are not the caller's.
                    setattr(value, own, traced(method, "" if own == "__init__" else own))


def traced(function: Callable[..., Any], name: str, bound: int = 1) -> Callable[..., Any]:
    """The function, telling its outermost calls under a name, if it has one.

    `bound` arguments at the front are left out: `self`.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if name and not getattr(_inside, "call", False):
            _tell(name, by_name(function, arguments, named, bound))
        with untraced():
            return function(*arguments, **named)

    return call


@contextmanager
def untraced() -> Iterator[None]:
    """Report none of the calls inside: they are not the caller's."""
    before, _inside.call = getattr(_inside, "call", False), True
    try:
        yield
    finally:
        _inside.call = before


def by_name(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], bound: int = 1
) -> dict[str, Any]:
    """Arguments by name, without the `bound` ones; those that do not fit the signature as they were given."""
    signature = inspect.signature(function)
    try:
        found = dict(list(signature.bind(*arguments, **named).arguments.items())[bound:])
    except TypeError:
        # The call does not fit the tool, which is about to say so itself.
        return {**{str(place): value for place, value in enumerate(arguments[bound:])}, **named}
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            found.update(found.pop(parameter.name, {}))
        elif parameter.kind is parameter.VAR_POSITIONAL and parameter.name in found:
            found[parameter.name] = list(found[parameter.name])
    return found


def _tell(name: str, arguments: dict[str, Any]) -> None:
    global _reported
    call_host = getattr(builtins, "call_host", None)
    if call_host is None or _reported >= MOST:
        return
    _reported += 1
    with suppress(Exception):
        call_host("eval.called", name=name, arguments={key: _plain(value) for key, value in arguments.items()})


def _plain(value: Any) -> Any:
    """A value in JSON types; anything else, or what is too long, is its bounded `repr`."""
    with suppress(Exception):
        text = json.dumps(value, allow_nan=False)
        if len(text) <= LONGEST and json.loads(text) == value:
            return value
    with suppress(Exception):
        return repr(value)[:LONGEST]
    return f"<{type(value).__name__}>"
