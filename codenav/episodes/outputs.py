"""The comparison of the replay's output with the session's last one: the same, reformatted, or another answer."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from codenav.core.execution import Digest, Held, Replayed
from codenav.episodes.code import labels_of
from codenav.episodes.figures import Number, Pool, Rounded, numbers_in, words_in
from codenav.episodes.repeats import READINGS, Repeats, masked

MOST_ATOMS = 400
"""Numbers, and words, of an output that are looked for; further ones are ignored."""
SMALL = 60
"""Characters of the longest repr that counts as if it had been printed."""
_ADDRESS = re.compile(r"\b0x[0-9A-Fa-f]+")
_NOISE = frozenset({
    "np", "float", "int", "str", "bool", "float64", "float32", "int64", "int32", "dtype", "object", "name", "length",
    "array", "rows", "columns", "row", "column", "x", "true_", "false_", "nan", "none", "and", "or", "of", "the", "is",
    "in", "at", "with", "to", "a", "an",
})  # fmt: skip
"""Words that reprs of arrays and frames add, and words that only join others."""


@dataclass(frozen=True)
class Atoms:
    """The numbers and words of a text that may be a result."""

    numbers: list[Number]
    words: list[str]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.words)

    def lacking(self, pool: Pool) -> str:
        """The first number or word that a pool does not hold; empty where it holds all."""
        for number in self.numbers:
            if not pool.holds(number):
                return number.text
        return next((word for word in self.words if not pool.names(word)), "")


def atoms_of(text: str, labels: frozenset[str]) -> Atoms:
    """The numbers and words of a text, without the words of labels."""
    text = _ADDRESS.sub(" ", text)
    words = [word for word in words_in(text) if len(word) > 1 and word not in labels and word not in _NOISE]
    return Atoms(list(itertools.islice(numbers_in(text), MOST_ATOMS)), words[:MOST_ATOMS])


def small_reprs(held: Held) -> list[str]:
    """The reprs of plain values and small containers, texts without their quotes."""
    return [_unquoted(item) for item in held.digests.values() if len(item.repr) <= SMALL]


def _unquoted(item: Digest) -> str:
    if item.type == "str":
        try:
            return str(ast.literal_eval(item.repr))
        except (ValueError, SyntaxError):
            return item.repr
    return item.repr


class Outputs:
    """The outputs of a session and of its replay, compared: whether the last output agrees, differs or was lost."""

    def __init__(
        self,
        outputs: Sequence[str],
        codes: Sequence[str],
        held: Held,
        request: str,
        replayed: Replayed,
        script: str,
        *,
        final: bool,
        repeats: Repeats | None = None,
    ) -> None:
        """`final`: the session printed its results last and did nothing after that."""
        at = max((at for at, text in enumerate(outputs) if text.strip()), default=-1)
        last = outputs[at] if outputs else ""
        self._last, self._replayed = last, replayed.output
        if repeats:
            self._last, self._replayed = repeats.steady_output(last, at), repeats.steady_replay(replayed.output)
        labels = frozenset(words_in(labels_of([*codes, script])))
        self.session = Pool().add(held.numbers, texts=[request, *small_reprs(held)])
        for text in outputs:
            self.session.add_output(text)
        strict, lax = self.session, self.session.copy().add((), held.many, held.texts)
        wanted, found = atoms_of(self._last, labels), self._final_atoms(labels)
        self.agrees = self._same() or self._holds(wanted, replayed)
        self.difference = ""
        shown = _last_line(self._replayed) in {" ".join(text.split()) for text in held.texts}
        unknown = "" if shown else found.lacking(strict if self._last else lax)
        if self._last and not self._same() and found and (unknown or (final and not self.agrees)):
            self.difference = self._told(unknown)
        elif not self._last and found:
            if unknown:
                self.difference = f"the script prints {unknown!r}, which the session never had"
            else:
                self.agrees = True
        self.lost = final and bool(wanted) and not self.agrees
        self.varies = self._last != masked(last)
        """True if parts of the last output are left out, since they are others each time."""
        steady = repeats.steady_output(last, at, READINGS) if repeats and self.varies else self._last
        self.tells = not self.varies or bool(atoms_of(steady, labels))
        """True if an equal output is evidence: it is not made of such parts, and words of the code, alone."""

    def _same(self) -> bool:
        here, there = _comparable(self._replayed), _comparable(self._last)
        return bool(there) and f"\n{there}\n" in f"\n{here}\n"

    def _final_atoms(self, labels: frozenset[str]) -> Atoms:
        """The numbers and words of the last line of the replay's output that has any."""
        for line in reversed(self._replayed.splitlines()):
            atoms = atoms_of(line, labels)
            if atoms:
                return atoms
        return Atoms([], [])

    def _holds(self, wanted: Atoms, replayed: Replayed) -> bool:
        """True if the replay has all of the session's last output, in its own output or in its variables."""
        if not wanted:
            return False
        pool = Pool().add(replayed.held.numbers, texts=small_reprs(replayed.held)).add_output(self._replayed)
        if not replayed.output.strip():
            pool.add((), replayed.held.many, replayed.held.texts)
        printed = Rounded(numbers_in(self._replayed))
        rest = [one for one in wanted.numbers if not printed.covers(one.value)]
        return not Atoms(rest, wanted.words).lacking(pool)

    def _told(self, unknown: str) -> str:
        here, there = _last_line(self._replayed), _last_line(self._last)
        if here != there:
            return f"the output is {here!r} in the replay and {there!r} in the episode"
        return f"the replay prints {unknown or 'something else'!r}, which the episode never had"


def _comparable(text: str) -> str:
    return "\n".join(line.rstrip() for line in _ADDRESS.sub("0x…", text).strip().splitlines())


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    line = " ".join(lines[-1].split()) if lines else ""
    return line if len(line) <= 80 else line[:79] + "…"
