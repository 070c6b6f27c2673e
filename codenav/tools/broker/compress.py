"""Answers of tools, compressed for an observation: what the request and the schema name first, the rest counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from codenav.core.errors import CodeNavError
from codenav.core.protocols import Model
from codenav.tools.broker.answer_fields import chosen, kept
from codenav.tools.broker.answer_leaves import Leaf, Path, Schemas, first_leaves, how_many, scored
from codenav.tools.model import Operation, Schema

LIMIT = 1024
"""Characters of an answer in an observation: from there on the thesis behind the tool graph compresses answers."""
LONGEST_TEXT = 160
"""Characters of a text inside a compressed answer."""
_MISSES = 200
"""Values that do not fit any more before the rest is left out without a look."""
_ROUNDS = 3
"""Rounds of filling: the second and third use the room that the first estimated too large."""


class Compressor:
    """The way in which a run shows answers: by rules, or with fields that a model names."""

    def __init__(self, limit: int = LIMIT, model: Model | None = None) -> None:
        """`limit`: most characters of an answer. `model` is asked once for each operation and request."""
        self._limit = limit
        self._model = model
        self._chosen: dict[tuple[str, str], frozenset[str]] = {}

    def __call__(self, operation: Operation, schemas: Mapping[str, Schema], request: str, value: Any) -> str:
        """An answer in at most `limit` characters. Without a usable answer of the model the rules hold."""
        if self._model and not isinstance(value, str) and not _fits(value, self._limit):
            try:
                leaves = kept(first_leaves(value), self._fields(self._model, operation, request, value))
            except (CodeNavError, RecursionError):
                leaves = []
            if leaves:
                return fitted(value, leaves, self._limit)
        return compressed(operation, schemas, request, value, self._limit)

    def _fields(self, model: Model, operation: Operation, request: str, value: Any) -> frozenset[str]:
        key = (operation.id, request)
        if key not in self._chosen:
            self._chosen[key] = chosen(model, operation, request, value)
        return self._chosen[key]


def compressed(
    operation: Operation, schemas: Mapping[str, Schema], request: str, value: Any, limit: int = LIMIT
) -> str:
    """An answer in at most `limit` characters; whole if it is short.

    First come values that the request names and those that the schema requires; of lists the items in which words of
    the request stand, then the first ones. Long texts are shortened. What is left out is counted.

    `schemas` are those of the operation's `ToolSpec`. `value` is JSON data.
    """
    try:
        if isinstance(value, str) or _fits(value, limit):
            return cut(text_of(value), limit)
        return fitted(value, scored(value, request, Schemas(operation.result, schemas)), limit)
    except RecursionError:
        return cut("an answer that is nested too deeply to be shown", limit)


def _fits(value: Any, limit: int) -> bool:
    try:
        return len(text_of(value)) <= limit
    except RecursionError:
        return False


def text_of(value: Any) -> str:
    """A value as it is shown: JSON, a text at the top as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def cut(text: str, limit: int) -> str:
    """A text in at most `limit` characters; what is left out is counted."""
    if len(text) <= limit:
        return text
    # Twice: the number's own length depends on it.
    note = f"… {len(text) - limit} characters"
    note = f"… {len(text) - limit + len(note)} characters"
    return text[: limit - len(note)] + note if len(note) < limit else text[:limit]


def fitted(value: Any, leaves: Sequence[Leaf], limit: int) -> str:
    """An answer with as many of these values as fit, those at the front first, in the order of the answer."""
    total = how_many(value)
    fit, waiting = list[Leaf](), list(leaves)
    shown = _shown(value, fit, total)
    # What a value costs is estimated from above; the room that this leaves is filled in another round.
    for _ in range(_ROUNDS):
        more, waiting = _fitting(
            waiting, {leaf.path[:end] for leaf in fit for end in range(len(leaf.path))}, limit - len(shown)
        )
        text = _shown(value, [*fit, *more], total)
        while len(text) > limit and more:
            del more[-max(1, len(more) // 10) :]
            text = _shown(value, [*fit, *more], total)
        if not more:
            break
        fit, shown = [*fit, *more], text
    return shown if fit else cut(text_of(value), limit)


def _fitting(leaves: Sequence[Leaf], opened: set[Path], room: int) -> tuple[list[Leaf], list[Leaf]]:
    """The values that fit beside those whose objects and lists are open already, and the others."""
    opened = {(), *opened}
    fit, others = list[Leaf](), list[Leaf]()
    for leaf in leaves:
        if leaf.length and leaf.path in opened:
            continue
        cost, parents = _cost(leaf, opened)
        if cost > room:
            others.append(leaf)
            if len(others) > _MISSES:
                break
            continue
        room -= cost
        opened |= parents
        fit.append(leaf)
    return fit, others


def _cost(leaf: Leaf, opened: set[Path]) -> tuple[int, set[Path]]:
    """Characters that a value adds, and the objects and lists that it opens."""
    parents = {leaf.path[:end] for end in range(len(leaf.path) + leaf.length)} - opened
    steps = sum(len(str(path[-1])) + 20 for path in parents if path)
    name = len(str(leaf.path[-1])) + 6 if leaf.path else 0
    return steps + (0 if leaf.length else name + len(_value(leaf.value))), parents


def _shown(value: Any, leaves: Iterable[Leaf], total: int) -> str:
    """An answer with some of its values, and the count of the others."""
    tree: dict[Any, Any] = {}
    count = 0
    for leaf in leaves:
        node = tree
        for step in leaf.path:
            node = node.setdefault(step, {})
        count += not leaf.length
    return _rendered(value, tree) + _note(total - count, total)


def _note(left_out: int, total: int) -> str:
    return f"\n… is left out: {left_out} of {total} values" if left_out else ""


def _rendered(value: Any, tree: Mapping[Any, Any]) -> str:
    """A value with only the parts in a tree of steps."""
    if isinstance(value, Mapping) and value:
        shown = [
            f"{json.dumps(str(key), ensure_ascii=False)}: {_rendered(below, tree[str(key)])}"
            for key, below in value.items()
            if str(key) in tree
        ]
        rest = len(value) - len(shown)
        return "{" + ", ".join([*shown, *([f"… {rest} field{'s' * (rest > 1)}"] if rest else [])]) + "}"
    if isinstance(value, list) and value:
        # Items that are not the first ones have their index.
        shown = [
            ("" if place == index else f"{index}: ") + _rendered(value[index], tree[index])
            for place, index in enumerate(sorted(tree))
        ]
        length = [] if len(shown) == len(value) else [f"{len(value)} item{'s' * (len(value) > 1)}"]
        return "[" + "; ".join([*length, *([", ".join(shown)] if shown else [])]) + "]"
    return _value(value)


def _value(value: Any) -> str:
    """A value at the end of a path, a long text shortened."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        value = cut(value, LONGEST_TEXT)
    return text_of(value) if not isinstance(value, str) else json.dumps(value, ensure_ascii=False)
