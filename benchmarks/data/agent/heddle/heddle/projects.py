"""Projects: from the washed cloth back to the warp and the yarn."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from . import yarns


@dataclass(frozen=True)
class Project:
    """A cloth of a length (m) and a width (cm), as it should be after washing."""

    length: float
    width_cm: float
    ends_per_cm: float
    picks_per_cm: float
    take_up: float = 0.1
    """What the warp loses by going over and under, as a part of the length."""
    draw_in: float = 0.08
    """What the width loses on the loom."""
    shrinkage: float = 0.1
    """What both lose in the wash."""
    loom_waste: float = 0.7
    """Metres of warp that cannot be woven."""
    hem_cm: float = 0.0
    """Length of each of the two hems."""

    def warp_length(self) -> float:
        """Metres of warp to wind."""
        off_loom = (self.length + 2 * self.hem_cm / 100) / (1 - self.shrinkage)
        return off_loom / (1 - self.take_up) + self.loom_waste

    def width_in_reed_cm(self) -> float:
        """The width of the warp in the reed."""
        return self.width_cm / (1 - self.shrinkage) / (1 - self.draw_in)

    def ends(self, repeat: int = 1, balance: int = 0) -> int:
        """Warp ends, rounded up to whole repeats of the threading, and `balance` more to end as they begin."""
        return ceil(self.width_in_reed_cm() * self.ends_per_cm / repeat) * repeat + balance

    def warp_metres(self, repeat: int = 1, balance: int = 0) -> float:
        """Metres of yarn in the whole warp."""
        return self.ends(repeat, balance) * self.warp_length()

    def weft_metres(self) -> float:
        """Metres of yarn in the whole weft: each pick is as long as the reed is full, and 5 % more for the turns."""
        woven_cm = 100 * (self.length + 2 * self.hem_cm / 100) / (1 - self.shrinkage)
        return woven_cm * self.picks_per_cm * self.width_in_reed_cm() / 100 * 1.05

    def yarn_grams(self, count: str) -> float:
        """Grams of a yarn for warp and weft together, from its count ('2/16 Ne')."""
        return (self.warp_metres() + self.weft_metres()) / yarns.run(count)
