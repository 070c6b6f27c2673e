"""Work on many items, some at a time, that ends at once when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def in_threads(
    function: Callable[[Item], Outcome], items: Iterable[Item], jobs: int, cancel: Callable[[], None]
) -> closing[Generator[Outcome, Any, None]]:
    """The results of a function on each item, as they come.

    When it is closed, or an item raises, nothing more begins, and `cancel` is called again and again until what is
    under way has ended.
    """

    def results() -> Generator[Outcome, Any, None]:
        left, under_way = iter(items), set[Future[Outcome]]()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                # No more than are under way: what has ended, and was given out, takes no memory.
                under_way |= {pool.submit(function, item) for item in islice(left, jobs)}
                while under_way:
                    ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    under_way |= {pool.submit(function, item) for item in islice(left, len(ended))}
                    while ended:
                        yield ended.pop().result()
            finally:
                while running := [future for future in under_way if not future.done()]:
                    cancel()
                    wait(running, timeout=0.1)

    return closing(results())
