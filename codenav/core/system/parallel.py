"""Work on many items, some at a time, that ends at once when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import closing
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
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(function, item) for item in items]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                while running := [future for future in futures if future.running()]:
                    cancel()
                    wait(running, timeout=0.1)

    return closing(results())
