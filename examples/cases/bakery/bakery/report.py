"""The report on an order."""

from bakery.prices import price_of


def report(order: dict[str, int]) -> str:
    """A line for each item of an order, and the total, in euros."""
    lines = [f"{item} {price_of(item, count=count) / 100:.2f}" for item, count in order.items()]
    total = sum(price_of(item, pieces=count) for item, count in order.items())
    return "\n".join([*lines, f"total {total / 100:.2f}"])
