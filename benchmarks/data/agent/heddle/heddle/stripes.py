"""Stripes: colours in an order, and what each of them takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise


class Stripes:
    """An order of colours such as `"4red 2(1white 1blue) 6red"`: a number before a bracket repeats what is inside."""

    def __init__(self, order: str) -> None:
        self.order = order

    def __iter__(self) -> Iterator[str]:
        yield from _read(re.findall(r"\d+\(|\)|\d+[a-z]+", self.order))

    def counts(self, ends: int = 0) -> dict[str, int]:
        """Ends of each colour. With `ends`, the order repeats from the start until the warp is full."""
        threads = list(self)
        found: dict[str, int] = {}
        for number in range(ends or len(threads)):
            colour = threads[number % len(threads)]
            found[colour] = found.get(colour, 0) + 1
        return found

    def mirrored(self) -> list[str]:
        """The order and back again, without doubling the thread in the middle."""
        threads = list(self)
        return threads + threads[-2::-1]

    def changes(self) -> int:
        """How often the colour changes from one end to the next: knots when winding a warp."""
        threads = list(self)
        return sum(one != other for one, other in pairwise(threads))


def _read(parts: list[str]) -> list[str]:
    threads: list[str] = []
    while parts and (part := parts.pop(0)) != ")":
        if part.endswith("("):
            threads += _read(parts) * int(part[:-1])
        else:
            number, colour = re.fullmatch(r"(\d+)([a-z]+)", part).groups()  # type: ignore[union-attr]
            threads += [colour] * int(number)
    return threads
