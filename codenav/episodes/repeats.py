"""Results that are another one each time: found by running the same code again, and left out of the comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile

from codenav.core.execution import Digest, Held, Replayed
from codenav.episodes.files import WORDS, Content

LEFT_OUT = "…"
"""What stands for a varying part of a text."""
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? \w+ +\w+"
READINGS = re.compile(
    rf"\w[\w.]*time\([^()\n]*\)|\d{{4}}-\d\d-\d\d[ T][\d:.]+|{_DAY}(?: \d{{4}})? [\d:]+(?: \d{{4}})?"
    rf"|<[^<>\n]{{1,200}}>|{WORDS.pattern}"
)
"""A word, or a whole reading of a clock or repr of an object: of these, too, nothing is evidence if a part varies."""
ADDRESS = re.compile(r"(?<=\bat )0x[0-9A-Fa-f]+|\b0x[0-9A-Fa-f]{9,16}\b")
"""An address as CPython prints it (`<… at 0x7f…>`), or any hexadecimal number as long as a user-space address."""
Places = Mapping[str, Sequence[str]]
"""The parts of a value: the items in each of its places."""


def masked(text: str) -> str:
    """The text with each memory address replaced by `0x…`."""
    return ADDRESS.sub("0x…", text)


@dataclass(frozen=True)
class Results:
    """The results of one run."""

    replayed: Replayed
    files: Mapping[str, Content]
    outputs: Sequence[str] = ()
    """The output of each step, if the steps of the session ran."""

    @property
    def held(self) -> Held:
        """Its variables."""
        return self.replayed.held


@dataclass(frozen=True)
class Repeats:
    """Further runs of the same code, beside the session and the first replay."""

    session: Results
    """The steps of the session, run again."""
    replays: Sequence[Results]
    """Further replays of the script."""

    def show_variation(self, left: Held, files: Mapping[str, Content], outputs: Sequence[str]) -> bool:
        """True if anything of the session is another one in its second run."""
        again = {name: item.digest for name, item in self.session.held.digests.items()}
        same = all(item.digest == again.get(name) for name, item in left.digests.items())
        return not same or self.session.files != files or list(self.session.outputs) != list(outputs)

    def steady(self, variable: Digest, *, of_session: bool) -> Digest:
        """A variable whose repr is without what is another one each time."""
        runs = [self.session] if of_session else self.replays
        found = [one.held.digests.get(variable.name, variable).repr for one in runs]
        return replace(variable, repr=steady_text([variable.repr, *found]))

    def excuses(self, there: Digest, here: Digest) -> bool:
        """True if a variable differs from the session's only in what is another one each time."""
        again = self.session.held.digests.get(there.name)
        others = [one.held.digests.get(here.name) for one in self.replays]
        runs = [there, again, here, *others]
        found = [one for one in runs if one is not None]
        if len(found) < len(runs) or len({one.type for one in found}) > 1:
            return False
        places = [_places(one) for one in found]
        return alike(places[:2], places[2:])

    def excuses_file(self, name: str, there: Content, here: Content) -> bool:
        """The same for a file."""
        runs = [there, self.session.files.get(name), here, *(one.files.get(name) for one in self.replays)]
        found = [one.places for one in runs if one is not None]
        return len(found) == len(runs) and alike(found[:2], found[2:])

    def new_names(self, there: Mapping[str, Content], here: Mapping[str, Content]) -> set[str]:
        """The session's files whose names are others each time; empty if the contents do not agree in their order."""
        sessions, scripts = [there, self.session.files], [here, *(one.files for one in self.replays)]
        runs = [
            sorted(set(one) - set[str].intersection(*(set(two) for two in group)))
            for group in (sessions, scripts)
            for one in group
        ]
        if len(set(map(len, runs))) > 1 or any(set(one) & set(two) for one in runs[:2] for two in runs[2:]):
            return set()
        for names in zip(*runs, strict=True):
            places = [one[name].places for one, name in zip([*sessions, *scripts], names, strict=True)]
            if not alike(places[:2], places[2:]):
                return set()
        return set(runs[0])

    def steady_output(self, first: str, step: int, words: re.Pattern[str] = WORDS) -> str:
        """The output of a step of the session, without what is another one each time."""
        return steady_text([first, self.session.outputs[step]], words) if first else ""

    def steady_replay(self, first: str) -> str:
        """The output of the script, without what is another one each time."""
        return steady_text([first, *(one.replayed.output for one in self.replays)])


def alike(session: Sequence[Places], script: Sequence[Places]) -> bool:
    """True if the first run of each differs only where runs of the same code differ.

    All that the replays agree on must be in the session, and all that both runs of the session agree on in each replay.
    """
    places = set.intersection(*map(set, [*session, *script]))
    shuffled = {one for one in places if _shuffled([run[one] for run in session], [run[one] for run in script])}
    return _has(session[:1], script, shuffled) and _has(script, session, shuffled)


def _shuffled(session: Sequence[Sequence[str]], script: Sequence[Sequence[str]]) -> bool:
    """True if all runs have the same items, in an order that is another one each time."""
    return _same_items([*session, *script]) and all(len(set(map(tuple, runs))) > 1 for runs in (session, script))


def _has(others: Sequence[Places], runs: Sequence[Places], shuffled: Set[str]) -> bool:
    """True if others have what all runs have."""
    for place in set.intersection(*map(set, runs)) - shuffled:
        pattern = _steady([one[place] for one in runs])
        if not all(place in other and _fits(pattern, other[place]) for other in others):
            return False
    return True


def _steady(runs: Sequence[Sequence[str]]) -> list[str | None]:
    """The items that are the same in all runs; None for one that is not, or for a stretch of varying length."""
    first = runs[0]
    if len(set(map(len, runs))) == 1:
        return [items[0] if len(set(items)) == 1 else None for items in zip(*runs, strict=True)]
    head = _same_at_front(runs)
    tail = _same_at_front([one[head:][::-1] for one in runs])
    return [*first[:head], None, *first[len(first) - tail :]]


def _same_at_front(runs: Sequence[Sequence[str]]) -> int:
    return sum(1 for _ in takewhile(lambda items: len(set(items)) == 1, zip(*runs, strict=False)))


def _fits(pattern: Sequence[str | None], items: Sequence[str]) -> bool:
    """True if the items have the pattern, in which None stands for one item or, in another length, for any."""
    if len(pattern) == len(items):
        return all(one is None or one == item for one, item in zip(pattern, items, strict=True))
    if None not in pattern:
        return False
    rest = iter(items)
    return all(one is None or one in rest for one in pattern)


def steady_text(runs: Sequence[str], words: re.Pattern[str] = WORDS) -> str:
    """The first of several texts, with a mark in place of each word that another one has otherwise."""
    lines = [masked(one).split("\n") for one in runs]
    if _same_items(lines):
        return "\n".join(lines[0])
    rows = list(zip(*lines, strict=True)) if len(set(map(len, lines))) == 1 else [tuple(map("\n".join, lines))]
    return "\n".join(_steady_line([words.findall(one) for one in row]) for row in rows)


def _steady_line(runs: Sequence[Sequence[str]]) -> str:
    found = runs[0] if _same_items(runs) else _steady(runs)
    return "".join(LEFT_OUT if one is None else one for one in found)


def _same_items(runs: Sequence[Sequence[str]]) -> bool:
    """True if all runs have the same items, in any order."""
    return all(len(one) == len(runs[0]) for one in runs) and len({tuple(sorted(one)) for one in runs}) == 1


def _places(variable: Digest) -> Places:
    if not variable.parts:
        return {"": [variable.digest or variable.repr]}
    places: dict[str, list[str]] = {}
    for part in variable.parts:
        place, _, item = part.partition(":")
        places.setdefault(place, []).append(item)
    return places
