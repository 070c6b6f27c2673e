"""Prices of the bakery."""

PRICES = {"bread": 350, "roll": 60, "cake": 2400}


def price_of(item: str, *, pieces: int = 1) -> int:
    """Price of some pieces of an item, in cents."""
    return PRICES[item] * pieces
