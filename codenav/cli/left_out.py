"""What a command leaves out of what it was given, told in a few lines on stderr."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from codenav.cli.display import paused
from codenav.cli.options import one_line, say

NAMED = 5
"""Most lines and names that are told one by one. `--json` has all names."""


@contextmanager
def telling_few() -> Iterator[Callable[[str], None]]:
    """A function that tells the first few of its sentences; how many more there were is told in the end."""
    told = 0

    def tell(text: str) -> None:
        nonlocal told
        told += 1
        if told <= NAMED:
            with paused():
                say(one_line(text), err=True)

    try:
        yield tell
    finally:
        if told > NAMED:
            say(f"… and {told - NAMED:,} more", err=True)


def tell_unknown(names: Collection[str], where: str) -> None:
    """Tell which names in traces stand for nothing there."""
    if names:
        named = ", ".join(one_line(name) for name in [*names][:NAMED])
        more = f", … {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        say(f"not in {where}, so their calls are left out: {named}{more}", err=True)
