"""How large the automaton of a regular expression is: engines build it before they search, and refuse big ones."""

from __future__ import annotations

import math
import re

from codenav.retrieval.query_values import wildcard_regex

MAX_STATES = 700
"""States of the deterministic automaton over bytes, as estimated. tantivy 0.27 stops at 1,000 (of 3,000 random
patterns within this it refused a few dozen, which the store tells); Lucene counts characters, and takes more."""
BEYOND_ASCII = 18
"""States for the bytes of a character that is not ASCII, as `.` takes any: `.{52}` is the longest that tantivy takes,
`a{980}` too."""
MAX_POSITIONS = 600
"""Characters of a pattern, repetition written out."""
_MAX_DEPTH = 12

_TOKEN = re.compile(r"\[\^?[^\]]*\]|\\.|\{\d+(?:,\d*)?\}|.", re.DOTALL)


class _TooLarge(Exception):
    pass


class _Glushkov:
    """The positions of a pattern: which characters each takes, and which can follow it, as bit masks."""

    def __init__(self, pattern: str) -> None:
        self.tokens = _TOKEN.findall(pattern)
        self.at = 0
        self.takes: list[str] = []
        self.follow: list[int] = []

    def alternatives(self, depth: int) -> tuple[bool, int, int]:
        """Whether it can be empty, its first and its last positions; up to the end or a closing parenthesis."""
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
    """Whether an engine may refuse a pattern of the common dialect, or spend long on it."""
    automaton = _Glushkov(pattern)
    try:
        _, first, last = automaton.alternatives(0)
    except (_TooLarge, RecursionError):
        return True
    return _states(automaton, first, last) > MAX_STATES


def wildcards_too_large(pattern: str) -> bool:
    """The same for a pattern of `*`, `?`, `\\` and literals."""
    return not _few_states(pattern) and too_large(wildcard_regex(pattern))


def _few_states(pattern: str) -> bool:
    """Whether an upper bound tells that a pattern is small enough: what nearly every pattern is.

    Behind a `*` a literal is looked for as Knuth, Morris and Pratt do, one state per character, independently of the
    literals before it; a state says in addition whether the last character completed a match.
    """
    if not pattern.isascii() or "?" in pattern or "\\" in pattern:
        return False
    pieces = pattern.split("*")
    states = 2 * math.prod(len(piece) + 1 for piece in pieces)
    return states + BEYOND_ASCII * len(pieces) <= MAX_STATES


def _states(automaton: _Glushkov, first: int, last: int) -> int:
    """States of the subset construction over bytes, counted up to the limit."""
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
    """For each character that makes a difference, the positions that take it."""
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
