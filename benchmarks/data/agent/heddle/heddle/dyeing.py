"""Dyeing: what goes into the pot."""

from __future__ import annotations

MORDANTS = {"wool": 0.12, "silk": 0.15, "cotton": 0.2, "linen": 0.2}
"""Grams of alum for a gram of dry fibre."""
LIQUOR = {"wool": 30.0, "silk": 40.0, "cotton": 20.0, "linen": 20.0}
"""Millilitres of bath for a gram of dry fibre."""


def stock_ml(grams: float, depth_percent: float, stock_percent: float = 1.0) -> float:
    """Millilitres of dye stock for a depth of shade in percent of the fibre's weight."""
    return grams * depth_percent / stock_percent


def bath(fibre: str, grams: float, depth_percent: float) -> dict[str, float]:
    """What a dye bath takes: millilitres of `stock` (1 %) and of `water`, and grams of `alum`.

    Stock counts as part of the bath. Depths over 2 % need a tenth more alum.
    """
    stock = stock_ml(grams, depth_percent)
    alum = grams * MORDANTS[fibre] * (1.1 if depth_percent > 2 else 1.0)
    return {"stock": stock, "water": grams * LIQUOR[fibre] - stock, "alum": alum}


def exhausted(depth_percent: float, dips: int, uptake: float = 0.7) -> list[float]:
    """The depth that each of several dips in the same bath gives, when each takes up a part of what is left."""
    depths = []
    for _ in range(dips):
        depths.append(depth_percent * uptake)
        depth_percent *= 1 - uptake
    return depths
