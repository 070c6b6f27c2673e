"""Work in threads: what has ended takes no memory, and nothing begins that is not wanted any more."""

from __future__ import annotations

import threading
import weakref

import pytest

from codenav.core.system.parallel import in_threads


class Outcome:
    """Something that a weak reference can watch."""


def test_a_thousand_outcomes_take_the_memory_of_a_few() -> None:
    seen: list[weakref.ref[Outcome]] = []
    begun: list[int] = []

    def work(number: int) -> Outcome:
        made = Outcome()
        seen.append(weakref.ref(made))
        return made

    def items() -> object:
        for number in range(1000):
            begun.append(number)
            yield number

    most = ahead = count = 0
    with in_threads(work, items(), 4, lambda: None) as outcomes:  # type: ignore[arg-type]
        for _ in outcomes:
            count += 1
            most = max(most, sum(one() is not None for one in tuple(seen)))
            ahead = max(ahead, len(begun) - count)
    assert count == 1000 and most <= 10 and ahead <= 8


def test_an_error_ends_it_and_what_is_under_way_is_cancelled() -> None:
    stop, begun = threading.Event(), list[int]()

    def work(number: int) -> int:
        begun.append(number)
        if number == 2:
            raise ValueError("the third")
        assert number < 2 or stop.wait(30)
        return number

    with pytest.raises(ValueError, match="the third"), in_threads(work, range(1000), 3, stop.set) as outcomes:
        for _ in outcomes:
            pass
    assert stop.is_set() and len(begun) < 10
