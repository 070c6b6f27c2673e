"""The sentences of a notice: what became of the state, what a fork could not keep, what ran again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

KINDS = {
    "q": "what is open outside the variables may be as it was left",
    "r": "an open file was read on",
    "x": "an open file that was written on is cut back to its length of before",
    "f": "what was written to an open file stays in it",
    "u": "an open file was deleted",
    "b": "a database connection of before is closed, and what it had not committed is undone",
    "m": "shared memory of over 1 MiB is as it was left",
    "e": "pools, futures and queues that they served are broken",
    "l": "locks on files, by fcntl or lockf, are gone",
    "o": "a lock on an open file, by flock, was taken by another one",
    "k": "event, timer and epoll descriptors are as they were left",
    "g": "what was on a GPU is gone",
}
"""Sentences for what a woken twin may say of itself, by a letter each; see `guest_outside`."""
_ALIVE = {"t": "threads", "c": "child processes", "n": "connections"}
MOST_NAMES = 5
NAME_CHARACTERS = 60


def losses(letters: str) -> list[str]:
    """Sentences for what a twin said. It runs user code, so a letter that is not known is ignored."""
    gone = [name for letter, name in _ALIVE.items() if letter in letters]
    found = [f"{_joined(gone)} that earlier steps had opened are gone"] if gone else []
    if "t" in letters:
        found.append("a lock that one of them held stays locked")
    return found + [sentence for letter, sentence in KINDS.items() if letter in letters]


def few(names: Iterable[str]) -> str:
    """Names, as many as can be read, and the number of the others."""
    listed = list(names)
    shown = [name if len(name) <= NAME_CHARACTERS else name[:NAME_CHARACTERS] + "…" for name in listed[:MOST_NAMES]]
    more = len(listed) - len(shown)
    return _joined([*shown, f"{more} more"] if more else shown)


def numbers(steps: Sequence[int]) -> str:
    """The numbers of steps, in words; runs of them are shortened."""
    parts: list[str] = []
    first = last = -1
    for number in [*steps, -1]:
        if number == last + 1 and parts:
            last = number
            continue
        if parts and last > first:
            parts[-1] = f"{first} to {last}" if last > first + 1 else f"{first}, {last}"
        first = last = number
        parts.append(str(number))
    parts.pop()
    return ("steps " if len(steps) > 1 else "step ") + few(parts)


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
