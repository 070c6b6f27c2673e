"""Bounded reprs of whatever user code made: bounded in length, depth and, where Python allows it, in time."""

from __future__ import annotations

import functools
import reprlib
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from types import FrameType, ModuleType
from typing import Any, Tuple

REPR_CHARACTERS = 1000
ALL_CHARACTERS = 20000
"""Maximum characters of one repr, and of all in one answer: beyond that reprs are cut to `FEW_CHARACTERS`."""
FEW_CHARACTERS = 80
NAMES = 200
"""Maximum number of variables in one answer."""
REPR_SECONDS = 0.25
ALL_SECONDS = 1.0
"""Time for one repr, and for all. A slower one is cut off, unless it is in C code: the limit of the step ends that."""

_clock = time.monotonic
Described = Tuple[str, str, str]

_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), type, ModuleType, type(len), type(lambda: 0)})

_QUICK = frozenset({int, float, complex, bool, str, bytes, type(None)})
"""Types whose reprs run no user code, and are cut before they are made."""


class TooSlow(BaseException):
    """The end of code that took too long."""


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = self.maxdeque = 40
        self.maxarray = 40
        self.maxstring = self.maxother = REPR_CHARACTERS
        self.maxlong = 200

    def repr1(self, x: Any, level: int) -> str:
        if type(x) is int and x.bit_length() > 1000:
            return f"<int of about {int(x.bit_length() * 0.30103 + 1)} digits>"
        if type(x) in (list, tuple, dict, set, frozenset, str):
            return super().repr1(x, level)
        if type(x) in (bytes, bytearray):
            return repr(x) if len(x) <= REPR_CHARACTERS else f"{bytes(x[:REPR_CHARACTERS])!r}…"
        return repr(x)


_short = _Short().repr


def cut(text: str, characters: int) -> str:
    """The text cut to at most `characters` characters, its head and tail kept."""
    if len(text) <= characters:
        return text
    half = max((characters - 3) // 2, 1)
    return text[:half] + " … " + text[-half:]


def _on_alarm(signum: int, frame: FrameType | None) -> None:
    raise TooSlow


def limited(make: Callable[[], Any], seconds: float) -> Any:
    """Call user code and return its result. Raises TooSlow where it takes longer, unless it is in C code."""
    before = signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return make()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)


class Describer:
    """A maker of bounded reprs within one budget of time."""

    def __init__(self, seconds: float = ALL_SECONDS) -> None:
        self._until = _clock() + seconds

    def repr(self, value: Any) -> str:
        """The repr of a value, or in angle brackets the reason why there is none."""
        if type(value) in _QUICK:
            return cut(_short(value), REPR_CHARACTERS)
        left = min(REPR_SECONDS, self._until - _clock())
        if left <= 0 and type(value) not in _ATOMS:
            return f"<{type(value).__name__}>"
        try:
            return cut(str(limited(functools.partial(_short, value), max(left, 0.01))), REPR_CHARACTERS)
        except TooSlow:
            return f"<{type(value).__name__}: its repr takes too long>"
        except BaseException as error:
            return f"<{type(value).__name__}: its repr raises {type(error).__name__}>"


def variables(space: Mapping[str, Any], names: Iterable[str] | None = None) -> list[Described]:
    """The name, type and bounded repr of all variables, or of the named ones; modules and `_names` are left out."""
    describer = Describer()
    found: list[Described] = []
    total = 0
    for name in list(space) if names is None else names:
        value = space.get(name)
        if (
            not isinstance(name, str)
            or name.startswith("_")
            or issubclass(type(value), ModuleType)
            or name not in space
        ):
            continue
        if len(found) == NAMES:
            break
        text = describer.repr(value)
        if total > ALL_CHARACTERS:
            text = cut(text, FEW_CHARACTERS)
        total += len(text)
        found.append((name[:200], type(value).__name__[:200], text))
    return found


class Before:
    """The variables before a step, to find out what it changed."""

    def __init__(self, space: Mapping[str, Any], mentions: set[str]) -> None:
        self._bound: dict[str, Any] = dict(space)
        describer = Describer(0.3)
        self._reprs = {
            name: describer.repr(space[name]) for name in mentions if name in space and type(space[name]) not in _ATOMS
        }

    def changed(self, space: Mapping[str, Any], binds: set[str]) -> list[Described]:
        """The variables that the step bound, and those that it mentions whose repr differs."""
        missing: Any = object()
        names = [name for name in list(space) if name in binds or self._bound.get(name, missing) is not space.get(name)]
        same = set(self._reprs).difference(names)
        describer = Describer(0.3)
        names += sorted(name for name in same if name in space and describer.repr(space[name]) != self._reprs[name])
        return variables(space, names)


def guarded(make: Callable[[], Any]) -> Any:
    """Call user code, which may do anything, and return its result; None where it raises."""
    try:
        return make()
    except BaseException:
        return None


def timed(make: Callable[[], Any], seconds: float) -> Any:
    """Like `guarded`, but None also where it takes longer than `seconds`."""
    return guarded(lambda: limited(make, seconds)) if seconds > 0 else None
