"""Size estimates for the automata of regular expressions, which engines build before they search, or refuse."""

from __future__ import annotations

import math
import re

from codenav.retrieval.query.values import wildcard_regex

MAX_STATES = 700
"""The most states of the deterministic automaton over bytes, as estimated. tantivy 0.27 stops at 1,000 (of 3,000
random patterns within this limit it refused a few dozen, which the store reports); Lucene counts characters, and
accepts more."""
BEYOND_ASCII = 18
"""States for the bytes of a non-ASCII character, which `.` matches too: the longest patterns that tantivy accepts are
`.{52}` and `a{980}`."""
MAX_POSITIONS = 600
"""The most characters of a pattern, with repetition written out."""
_MAX_DEPTH = 12

_TOKEN = re.compile(r"\[\^?[^\]]*\]|\\.|\{\d+(?:,\d*)?\}|.", re.DOTALL)


class _TooLarge(Exception):
    """Raised for a pattern with too many positions or groups nested too deep."""


class _Glushkov:
    """A Glushkov automaton: for each position of a pattern its characters, and a bit mask of the positions after it."""

    def __init__(self, pattern: str) -> None:
        self.tokens = _TOKEN.findall(pattern)
        self.at = 0
        self.takes: list[str] = []
        self.follow: list[int] = []

    def alternatives(self, depth: int) -> tuple[bool, int, int]:
        """Read alternatives; return True if they can be empty, and the masks of their first and last positions.

        They extend to the end or to a closing parenthesis.
        """
        if depth > _MAX_DEPTH:
            raise _TooLarge
        empty, first, last = self.sequence(depth)
        while self.next() == "|":
            self.at += 1
            other = self.sequence(depth)
            empty, first, last = empty or other[0], first | other[1], last | other[2]
        return empty, first, last

    def sequence(self, depth: int) -> tuple[bool, int, int]:
        empty, first, last = True, 0, 0
        while self.next() not in ("", "|", ")"):
            begin = self.at
            part = self.atom(depth)
            low, high = self.count()
            after = self.at
            out = (empty, last) if low == 0 else (False, 0)
            copies = max(low, 1) if high is None else high
            for number in range(copies):
                if number:
                    self.at = begin
                    part = self.atom(depth)
                self.link(last, part[1])
                if high is None and number == copies - 1:
                    self.link(part[2], part[1])
                first |= part[1] if empty else 0
                empty, last = empty and part[0], part[2] | (last if part[0] else 0)
                if number + 1 >= low:
                    out = out[0] or empty, out[1] | last
            empty, last = out
            self.at = after
        return empty, first, last

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def atom(self, depth: int) -> tuple[bool, int, int]:
        token = self.next()
        self.at += 1
        if token == "(":
            part = self.alternatives(depth + 1)
            self.at += 1
            return part
        if len(self.takes) >= MAX_POSITIONS:
            raise _TooLarge
        self.takes.append(token)
        self.follow.append(0)
        bit = 1 << len(self.takes) - 1
        return False, bit, bit

    def count(self) -> tuple[int, int | None]:
        token = self.next()
        if token in ("*", "+", "?") or (token.startswith("{") and len(token) > 2):
            self.at += 1
            if token in ("*", "+", "?"):
                return (1 if token == "+" else 0), (1 if token == "?" else None)
            low, comma, high = token[1:-1].partition(",")
            bounds = int(low), (int(high) if high else None) if comma else int(low)
            if max(bounds[0], bounds[1] or 0) > MAX_POSITIONS:
                raise _TooLarge
            return bounds
        return 1, 1

    def link(self, before: int, after: int) -> None:
        while before:
            bit = before & -before
            self.follow[bit.bit_length() - 1] |= after
            before ^= bit


def too_large(pattern: str) -> bool:
    """True if an engine may refuse a pattern of the common dialect, or take long for it."""
    automaton = _Glushkov(pattern)
    try:
        _, first, last = automaton.alternatives(0)
    except (_TooLarge, RecursionError):
        return True
    return _states(automaton, first, last) > MAX_STATES


def wildcards_too_large(pattern: str) -> bool:
    """True if an engine may refuse a pattern of `*`, `?`, `\\` and literals, or take long for it."""
    return not _few_states(pattern) and too_large(wildcard_regex(pattern))


def _few_states(pattern: str) -> bool:
    """True if an upper bound shows that a pattern is small enough, as nearly every pattern is.

    After a `*` a literal is searched for as by Knuth, Morris and Pratt, with one state per character, independently
    of the literals before it; a state tells in addition if the last character completed a match.
    """
    if not pattern.isascii() or "?" in pattern or "\\" in pattern:
        return False
    pieces = pattern.split("*")
    states = 2 * math.prod(len(piece) + 1 for piece in pieces)
    return states + BEYOND_ASCII * len(pieces) <= MAX_STATES


def _states(automaton: _Glushkov, first: int, last: int) -> int:
    """The number of states of the subset construction over bytes, counted up to the limit."""
    matching = _by_character(automaton.takes)
    beyond = _mask(automaton.takes, "\uffff")
    seen = {(first, False)}
    wide: set[int] = set()
    todo = [first]
    while todo and len(seen) + BEYOND_ASCII * len(wide) <= MAX_STATES:
        state = todo.pop()
        wide |= {state & beyond} - {0}
        for mask in matching:
            taken = hit = state & mask
            after = 0
            while hit:
                bit = hit & -hit
                after |= automaton.follow[bit.bit_length() - 1]
                hit ^= bit
            key = after, bool(taken & last)
            if key not in seen:
                seen.add(key)
                todo.append(after)
    return len(seen) + BEYOND_ASCII * len(wide)


def _by_character(takes: list[str]) -> list[int]:
    """The masks of the positions that match a character, for each character that makes a difference."""
    letters = {char for token in dict.fromkeys(takes) for char in _letters(token)} | {"\uffff"}
    return sorted({_mask(takes, letter) for letter in letters})


def _mask(takes: list[str], letter: str) -> int:
    matched = {token for token in dict.fromkeys(takes) if re.fullmatch(token, letter, re.DOTALL)}
    return sum(1 << at for at, token in enumerate(takes) if token in matched)


def _letters(token: str) -> str:
    if token.startswith("["):
        ends = re.findall(r"[^\[\]^]", token)
        return "".join(ends + [chr(min(ord(char) + 1, 0x10FFFF)) for char in ends])
    return token[-1]
