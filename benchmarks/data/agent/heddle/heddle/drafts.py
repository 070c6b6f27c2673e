"""Drafts: which threads a loom lifts, and the cloth that comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import lcm


class DraftError(ValueError):
    """A draft names a shaft or a treadle that the loom does not have."""


@dataclass(frozen=True)
class Draft:
    """Threading, tie-up and treadling of a rising-shed loom."""

    threading: tuple[int, ...]
    """The shaft of each warp end, from the right."""
    tie_up: tuple[frozenset[int], ...]
    """The shafts that each treadle lifts."""
    treadling: tuple[int, ...]
    """The treadle of each pick."""

    @classmethod
    def parse(cls, threading: str, tie_up: str, treadling: str) -> Draft:
        """Read a draft from text: numbers with spaces between; in the tie-up the digits of a treadle stand together."""
        draft = cls(
            tuple(map(int, threading.split())),
            tuple(frozenset(map(int, treadle)) for treadle in tie_up.split()),
            tuple(map(int, treadling.split())),
        )
        if max(draft.treadling) > len(draft.tie_up):
            raise DraftError(f"there is no treadle {max(draft.treadling)}")
        return draft

    @property
    def shafts(self) -> int:
        """How many shafts the loom needs."""
        return max(*self.threading, *(shaft for treadle in self.tie_up for shaft in treadle))

    def row(self, pick: int) -> str:
        """One pick as text: `#` where the warp is on top, `.` where the weft is. Picks count from 0 and repeat."""
        lifted = self.tie_up[self.treadling[pick % len(self.treadling)] - 1]
        return "".join("#" if shaft in lifted else "." for shaft in self.threading)

    def cloth(self, picks: int = 0) -> str:
        """The drawdown, a line a pick. Without `picks`, one repeat of the treadling."""
        return "\n".join(self.row(pick) for pick in range(picks or len(self.treadling)))

    def warp_share(self) -> float:
        """The part of the face that the warp covers in one repeat, 0 to 1."""
        cloth = self.cloth().replace("\n", "")
        return cloth.count("#") / len(cloth)

    def longest_weft_float(self) -> int:
        """The most neighbouring ends that one pick passes over, in cloth that repeats sideways."""
        return max(_longest(self.row(pick), ".") for pick in range(len(self.treadling)))

    def longest_warp_float(self) -> int:
        """The most picks in a row that one end lies on top of, in cloth that repeats lengthwise."""
        rows = self.cloth().split("\n")
        return max(_longest("".join(column), "#") for column in zip(*rows, strict=True))

    def turned(self) -> Draft:
        """The draft for weaving the same cloth turned by a quarter: warp becomes weft."""
        shafts = range(1, self.shafts + 1)
        lifts = [
            frozenset(number + 1 for number, treadle in enumerate(self.tie_up) if shaft not in treadle)
            for shaft in shafts
        ]
        return Draft(self.treadling, tuple(lifts), self.threading)

    def heddles(self) -> dict[int, int]:
        """How many heddles each shaft needs for one repeat of the threading."""
        return {shaft: self.threading.count(shaft) for shaft in range(1, self.shafts + 1)}

    def balanced_repeat(self) -> int:
        """The fewest ends after which threading and treadling end together, for square motifs."""
        return lcm(len(self.threading), len(self.treadling))


def _longest(line: str, mark: str) -> int:
    if set(line) == {mark}:
        return len(line)
    return max((len(list(run)) for kind, run in groupby(line * 2) if kind == mark), default=0)
