"""A clause that is being worked on, and the comparison of its results."""

from __future__ import annotations

import ast
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field

from codenav.planner.calls import Result
from codenav.planner.reading import Clause
from codenav.planner.relevance import Meaning
from codenav.planner.values import Value
from codenav.signatures.callables import CallableSignature

MEANT = 0.1
"""The likelihood of the likeliest callable below which it was only tried because nothing else was there."""
_NUMBER = re.compile(r"(?:np|numpy)\.\w+\((.*)\)")


def shown(result: Result) -> str:
    """The text that a result shows: without quotes around it and the name of a number's type."""
    if result.printed and result.repr == "None":
        return result.printed
    plain = _NUMBER.fullmatch(result.repr)
    text = plain[1] if plain else result.repr
    if result.type in ("str", "bytes"):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = ast.literal_eval(text)
            text = value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
    return text


@dataclass(frozen=True)
class Seen:
    """The parts of a result by which it is compared with another one."""

    shown: str
    calls: tuple[str, ...]
    used: frozenset[str]

    @classmethod
    def of(cls, result: Result) -> Seen:
        """The parts of a result; numbers and texts that show the same are one answer."""
        text = shown(result).removeprefix("b").strip("'\"")
        with suppress(ValueError):
            text = repr(float(text))
        text = "\n".join(line.rstrip() for line in text.strip().splitlines())
        calls = tuple(call.expression for call in result.calls)
        return cls(text, calls, frozenset(value.code for value in result.used))

    def is_rival(self, best: Seen) -> bool:
        """True if it is another answer, and no mere call of the same with less of what the clause gives."""
        return self.shown != best.shown and not (self.calls == best.calls and self.used < best.used)


@dataclass
class Goal:
    """A clause that is being worked on, and what stands in the way."""

    clause: Clause
    meaning: Meaning
    values: tuple[Value, ...]
    wanted: frozenset[Value]
    """The literals that its result must come from."""
    earlier: tuple[Result, ...] = ()
    """The results of the clauses before, the newest first."""
    last: bool = True
    """True if its result is the answer."""
    constants: tuple[Value, ...] = ()
    """The constants that its words name."""
    top: float = 0.0
    """The likelihood that the likeliest callable is meant."""
    why: str = ""
    nearest: list[str] = field(default_factory=list)
    """The callables that come near, where nothing is done."""
    tries: int = 0
    """The number of calls made before it was begun."""
    item_tries: int = 0
    """The number of calls made before the callable that is tried."""
    extending: bool = False
    """True while what came out of that is called."""
    began: float = field(default_factory=time.monotonic)
    """The time when the request was begun, in seconds of the monotonic clock."""
    searches: int = 0
    worths: dict[Seen, float] = field(default_factory=dict)
    """The scores of results, by the parts they are compared by."""
    scored: dict[int, tuple[Result, float]] = field(default_factory=dict)
    """Each result with its score, by its id, which stays its own as long as the result is kept."""

    def fails(self, why: str) -> None:
        """Keep what is told where nothing works: the first reason, which is that of the likeliest callable."""
        self.why = self.why or why

    def told(self) -> str:
        """The clause, and the reason why nothing was done."""
        why = self.why if self.top > MEANT or not self.nearest else ""
        return f"“{' '.join(self.clause.text.split())}”: {why or 'no callable that was found explains it'}"


def shape(item: CallableSignature) -> str:
    """A callable with the names of its parameters."""
    head = item.name if item.kind in ("member", "value") else item.expression
    return f"{head}({', '.join(parameter.name for parameter in item.parameters)})"
