"""The requests of the benchmark of the agent: how they are read and halved, and when an answer is right."""

from __future__ import annotations

import ast
import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "agent"
SETS = ("packages", "files", "service", "unseen")
TUNED, PUT_AWAY = "tuned", "put-away"
SOLVED, WRONG, NONE = "solved", "wrong", "none"
WITHIN = 0.001
"""What a number may be off, as a part of the right one, where the request says nothing else; whole ones by nothing."""
MOST_WORDS = 25
"""Words of an answer that are neither the right one nor the request's: more are a dump of output."""
_NUMBER = re.compile(r"(?<![\w.])[-−]?(?>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?)", re.IGNORECASE)
_MIDNIGHT = re.compile(r"(?<=\d)[T ]00:00(?::00)?\b")


@dataclass(frozen=True)
class Request:
    """A request, and the script that prints the right answer."""

    id: str
    kind: str
    """`one` call, calls `joined`, `files`, `service`, or `unseen` code."""
    on: str
    """The distribution, `heddle` (a repository) or `hire` (a tool specification)."""
    text: str
    gold: str
    files: tuple[str, ...] = ()
    """The files that the work folder begins with."""
    within: float = 0.0
    """What numbers may be off; 0: see WITHIN."""
    ordered: bool = False
    """True where the order of a list counts."""


def read() -> list[Request]:
    """All requests, in the order of the files."""
    seen: Counter[str] = Counter()
    found = []
    for name in SETS:
        for kind, records in tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8")).items():
            for record in records:
                label = f"{kind}-{record['on']}"
                seen[label] += 1
                found.append(
                    Request(f"{label}-{seen[label]}", kind, **record | {"files": tuple(record.get("files", ()))})
                )
    return found


def half(requests: Sequence[Request], name: str) -> list[Request]:
    """Half of each kind, drawn by the digests of the ids."""
    put_away: set[str] = set()
    for kind in {one.kind for one in requests}:
        drawn = sorted(
            (one.id for one in requests if one.kind == kind), key=lambda id: hashlib.sha256(id.encode()).digest()
        )
        put_away.update(drawn[: len(drawn) // 2])
    return [one for one in requests if (one.id in put_away) == (name == PUT_AWAY)]


def value_of(printed: str) -> Any:
    """The last line that a script printed, as the value that it writes, else as text."""
    line = (printed.strip().splitlines() or [""])[-1]
    try:
        value = ast.literal_eval(line)
    except (ValueError, SyntaxError):
        return line
    return list(value) if isinstance(value, tuple | list | set) else value


def score(request: Request, gold: Any, answer: str) -> str:
    """`solved`, `wrong`, or `none` where there is no answer.

    Numbers count wherever they stand, texts as whole words, whatever their case and spaces. Beside the right answer
    there may be no other number than those of the request, no alternative ("A or B", a list of several), no dump.
    """
    answer = _MIDNIGHT.sub("", answer.strip())
    if not answer:
        return NONE
    items = list(gold) if isinstance(gold, list) else [gold]
    return SOLVED if _holds(request, items, answer) else WRONG


def _holds(request: Request, items: list[Any], answer: str) -> bool:
    literal, parts = value_of(answer), re.split(r"[,;]\s+|\n", answer)
    listed = literal if isinstance(literal, list) else items
    if all(isinstance(item, str) for item in items) and all(len(part.split()) <= 2 for part in parts):
        listed = parts
    if len(listed) != len(items):
        return False
    rest, places = answer, []
    for text in [item for item in items if isinstance(item, str)]:
        found = re.search(_whole(text), rest, re.IGNORECASE)
        if not found:
            return False
        places.append(found.start())
        rest = re.sub(_whole(text), lambda match: " " * len(match[0]), rest, flags=re.IGNORECASE)
    wanted = [float(item) for item in items if not isinstance(item, str)]
    named = _numbers(request.text)
    numbers = [
        number for number in _numbers(rest) if any(_near(request, number, one) for one in wanted) or number not in named
    ]
    if not _matched(request, wanted, numbers):
        return False
    if request.ordered and places != sorted(places):
        return False
    others = set(_words(rest)) - set(_words(request.text))
    return "or" not in others and len(others) <= MOST_WORDS


def _matched(request: Request, wanted: list[float], numbers: list[float]) -> bool:
    """True if the numbers are those that are wanted, perhaps told again, and no others."""
    if not all(any(_near(request, number, one) for one in wanted) for number in numbers):
        return False
    if request.ordered:
        return any(
            all(_near(request, number, one) for number, one in zip(numbers[start:], wanted, strict=False))
            for start in range(len(numbers) - len(wanted) + 1)
        )
    left = list(numbers)
    for one in wanted:
        at = next((place for place, number in enumerate(left) if _near(request, number, one)), None)
        if at is None:
            return False
        del left[at]
    return True


def _near(request: Request, number: float, one: float) -> bool:
    return abs(number - one) <= (request.within or (0 if one == int(one) else WITHIN * abs(one)) + 1e-9)


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "").replace("−", "-")) for found in _NUMBER.findall(text)]


def _whole(text: str) -> str:
    parts = [re.escape(part) for part in re.findall(r"\w+|[^\w\s]", text)]
    return r"(?<!\w)" + r"\s*".join(parts) + r"(?!\w)"


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())
