"""Setts: how many ends lie in a centimetre."""

from __future__ import annotations

COVER = {"plain": 0.5, "basket": 0.6, "twill": 2 / 3, "satin": 0.8, "lace": 0.45}
"""The part of a centimetre that the ends of a structure may fill."""
USE = {"scarf": 0.8, "cloth": 1.0, "upholstery": 1.2}


def ends_per_cm(wraps_per_cm: float, structure: str = "plain", use: str = "cloth") -> float:
    """The sett for a yarn of so many wraps. A scarf is set a fifth looser, upholstery a fifth closer."""
    return wraps_per_cm * COVER[structure] * USE[use]


def sleying(ends_per_cm: float, reed: float) -> list[int]:
    """How many ends go into the dents one after the other, for a reed with so many dents in a centimetre.

    The shortest pattern of at most five dents that comes within 2 % of the sett, else the nearest of five dents.
    """
    wanted = ends_per_cm / reed
    for dents in range(1, 6):
        ends = round(wanted * dents)
        if abs(ends / dents - wanted) <= 0.02 * wanted or dents == 5:
            return [(ends * (dent + 1)) // dents - (ends * dent) // dents for dent in range(dents)]
    raise AssertionError
