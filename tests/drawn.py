"""The number of cases that tests draw: few and always the same in a test run, many and new ones in `make fuzz`."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

DRAWS = int(os.environ.get("DRAWS", "1"))
"""The factor for the number of cases."""
SEED = int(os.environ.get("SEED", "0"))
"""The first seed of what hypothesis does not draw; for hypothesis itself see `--hypothesis-seed`."""


def drawn(examples: int, **more: Any) -> settings:
    """The settings of a hypothesis test of so many examples in a test run."""
    return settings(max_examples=examples * DRAWS, deadline=None, **more)


def seeds(count: int) -> range:
    """The seeds of a test of so many cases in a test run, for `pytest.mark.parametrize`."""
    return range(SEED, SEED + count * DRAWS)
