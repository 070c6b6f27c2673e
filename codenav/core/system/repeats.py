"""The rule of repeats: which answers are worth another request, and after how long."""

from __future__ import annotations

import datetime
import email.utils
import random
import time

BUSY = frozenset((408, 425, 429, 500, 502, 503, 504))
"""Statuses of a service that may answer the next time."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0
"""Seconds before a repeat where the service names none."""


def pause_after(tries: int, asked: float | None = None) -> float:
    """The seconds before the next try: those that the service asks for, else more after each."""
    if asked is not None:
        return asked
    return float(min(FIRST_PAUSE * 2 ** (tries - 1), LONGEST_PAUSE) * random.uniform(0.8, 1.2))


def asked_seconds(asked: str) -> float | None:
    """The seconds that a `Retry-After` names, a number or a date; None if it names none."""
    try:
        return max(float(asked), 0.0)
    except ValueError:
        pass
    try:
        date = email.utils.parsedate_to_datetime(asked)
    except (TypeError, ValueError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
    return max(date.timestamp() - time.time(), 0.0)
