"""Yarn counts, and how thick and long a yarn is."""

from __future__ import annotations

from math import sqrt

METRES_PER_GRAM = {"Nm": 1.0, "Ne": 1.6934, "NeL": 0.6047, "NeK": 1.1288}
"""Metric, cotton, linen and worsted count: metres of a gram at count 1."""


def run(count: str) -> float:
    """Metres in a gram of a yarn from its count, plies included: '2/16 Ne' has two plies of 16 each.

    Raises:
        ValueError: the system of the count is unknown.
    """
    numbers, system = count.split()
    if system not in METRES_PER_GRAM:
        raise ValueError(f"unknown count {system!r}: one of {', '.join(METRES_PER_GRAM)}")
    plies, _, single = numbers.rpartition("/")
    return METRES_PER_GRAM[system] * float(single) / int(plies or 1)


def tex(count: str) -> float:
    """The weight in grams of 1,000 metres."""
    return 1000 / run(count)


def diameter_mm(count: str, density: float = 1.31) -> float:
    """The diameter in millimetres of a yarn packed to 60 %, from the density of its fibre (wool: 1.31)."""
    return 2 * sqrt(tex(count) / 1000 / (0.6 * density) / 3.14159)


def wraps_per_cm(count: str, density: float = 1.31) -> float:
    """How many turns of a yarn lie side by side on one centimetre."""
    return 10 / diameter_mm(count, density)
