"""The values in an answer that is JSON data, each with how much it matters for a request."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

from codenav.tools.model import Schema


def _words_in(text: str) -> frozenset[str]:
    """The words between white space: a list of words that is easy to read."""
    return frozenset(text.split())


Step = str | int
Path = tuple[Step, ...]

LEAVES = 20_000
"""Most values that are looked at, first ones first: an answer of 8 MiB has half a million."""
LONGEST_VALUE = 200
"""Characters of a text in which words of the request are looked for."""

_OWN, _ABOVE, _DESCRIBED, _VALUE, _ITEM = 1.0, 0.5, 0.3, 0.7, 0.6
"""Weights of a word of the request: in the value's own name, in a name above it, in its description, in the value
itself, and in another value of the same item of a list."""
_REQUIRED, _IDENTITY, _EMPTY, _DEPTH, _INDEX, _LENGTH = 0.5, 0.4, -0.5, -0.1, -0.3, -0.002
"""Further weights of a value: for being required, for its name, for being empty; for each name or index above it,
each item of its list that comes before its own, each character."""
_IDENTITIES = _words_in("id name title summary label status state")
"""Names that say what an object is: they are worth a little without being asked for."""

_STOP = _words_in(
    """a about all an and any are as at be by can could did do does for from get give has have how i in into is it its
    many may me much my of on or our please show tell that the their there these they this those to was we were what
    when where which who whom whose why will with would you your"""
)
_QUESTIONS = {
    "when": "date time at", "where": "place location address city", "who": "name user author by",
    "whom": "name user to", "many": "count number total size", "much": "amount total price",
    "why": "reason cause error message",
}  # fmt: skip
"""Words for names of values that a question asks for; each weighs half as much as a word of the request."""
_ASKED = 0.5
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDINGS = (
    "ization", "isation", "izing", "ising", "ized", "ised", "ize", "ise", "ations", "ation", "ingly", "ings", "ing",
    "ions", "ion", "edly", "ies", "ied", "ed", "es", "er", "or", "ly", "s", "e", "y",
)  # fmt: skip
"""Endings that are cut off a word, the longest that leaves three letters: `encode`, `encoding`, `encoder` are one."""
_WHOLE = frozenset(("setting", "settings", "bearing", "bearings", "meeting", "meetings"))
"""Words that are no forms of the verbs that they come from."""


@lru_cache(maxsize=10_000)
def _stem(word: str) -> str:
    """A word without its ending."""
    word = word.lower()
    if word in _WHOLE:
        return word.removesuffix("s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            cut = word[: -len(ending)]
            return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls" else cut
    return word


def _parts(identifier: str) -> list[str]:
    """The words in an identifier: `loadHTTPModel_v2` → load, http, model, v, 2."""
    return [part.lower() for part in _PART.findall(identifier)]


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The words of a text or name, without endings: `results[0].releaseDate` → result, 0, releas, dat."""
    found: set[str] = set()
    for word in _WORD.findall(text):
        found.update(map(_stem, _parts(word)) if word.isascii() else (word.casefold(),))
    return frozenset(found)


def asked(request: str) -> dict[str, float]:
    """The words of a request that say something, without endings, each with its weight."""
    words = [word.lower() for word in _WORD.findall(request)]
    meant = {_stem(name): _ASKED for word in words for name in _QUESTIONS.get(word, "").split()}
    said = {piece: 1.0 for word in _WORD.findall(request) if word.lower() not in _STOP for piece in stems(word)}
    return {**meant, **said}


@dataclass(slots=True)
class Leaf:
    """A value that is no object and no list with items; for a list, also its length."""

    path: Path
    value: Any
    length: bool = False
    """True if this is the length of the list at `path`, not a value."""
    score: float = 0.0
    place: int = 0
    """Its place in the order of the answer."""


@dataclass(slots=True)
class _Named:
    """The words about a value in the names above it and its schema: the same for all items of a list."""

    own: frozenset[str] = frozenset()
    above: frozenset[str] = frozenset()
    described: frozenset[str] = frozenset()
    required: bool = False
    met: set[str] = field(default_factory=set)
    """Words of the request in its values."""
    score: float = 0.0


def leaves_of(value: Any, path: Path = ()) -> Iterator[Leaf]:
    """All values of an answer in its order."""
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from leaves_of(below, (*path, str(key)))
    elif isinstance(value, list) and value:
        yield Leaf(path, len(value), length=True)
        for index, below in enumerate(value):
            yield from leaves_of(below, (*path, index))
    else:
        yield Leaf(path, value)


def how_many(value: Any) -> int:
    """The number of values in an answer."""
    below = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return sum(map(how_many, below)) if below else 1


def first_leaves(value: Any) -> list[Leaf]:
    """The values of an answer that are looked at."""
    found = list(islice(leaves_of(value), LEAVES))
    for place, leaf in enumerate(found):
        leaf.place = place
    return found


def shape_of(path: Path) -> tuple[str, ...]:
    """A path without its indices."""
    return tuple(step for step in path if isinstance(step, str))


@dataclass(slots=True)
class Schemas:
    """The schema of an answer, walked along names."""

    root: Schema | None
    named: Mapping[str, Schema]
    _cache: dict[tuple[str, ...], tuple[list[Schema], bool]] = field(default_factory=dict)

    def at(self, shape: tuple[str, ...]) -> tuple[str, bool]:
        """The description of the value at a shape, and if its object requires it."""
        found, required = self._at(shape)
        return " ".join(str(schema.get("description", "")) for schema in found), required

    def _at(self, shape: tuple[str, ...]) -> tuple[list[Schema], bool]:
        if shape not in self._cache:
            if not shape:
                self._cache[shape] = ([self.root] if self.root else [], False)
            else:
                objects = self._flat(self._at(shape[:-1])[0])
                name = shape[-1]
                below = [schema["properties"][name] for schema in objects if name in (schema.get("properties") or {})]
                required = any(name in (schema.get("required") or ()) for schema in objects)
                self._cache[shape] = ([schema for schema in below if isinstance(schema, Mapping)], required)
        return self._cache[shape]

    def _flat(self, schemas: Sequence[Schema]) -> list[Schema]:
        """Schemas with references, alternatives and items of lists resolved."""
        waiting, flat, met = list(schemas), list[Schema](), set[int]()
        while waiting and len(flat) < 50:
            schema = waiting.pop(0)
            if not isinstance(schema, Mapping) or id(schema) in met:
                continue
            met.add(id(schema))
            flat.append(schema)
            if str(schema.get("$ref", "")).startswith("#/schemas/"):
                waiting.append(self.named.get(str(schema["$ref"])[len("#/schemas/") :], {}))
            waiting += [schema["items"]] if "items" in schema else []
            for word in ("allOf", "anyOf", "oneOf"):
                waiting += schema.get(word) or []
        return flat


def scored(value: Any, request: str, schemas: Schemas) -> list[Leaf]:
    """The values of an answer, those that matter most for a request first; equal ones in the order of the answer."""
    wanted = asked(request)
    leaves = first_leaves(value)
    shapes: dict[tuple[str, ...], _Named] = {}
    for leaf in leaves:
        shape = shape_of(leaf.path)
        if shape not in shapes:
            description, required = schemas.at(shape)
            above = frozenset(word for name in shape[:-1] for word in stems(name))
            shapes[shape] = _Named(stems(shape[-1] if shape else ""), above, stems(description), required)
        shapes[shape].met |= wanted.keys() & _in_value(leaf)
    rare = _rarity(wanted, shapes.values())
    for shape, named in shapes.items():
        named.score = (
            _OWN * _sum(rare, named.own)
            + _ABOVE * _sum(rare, named.above - named.own)
            + _DESCRIBED * _sum(rare, named.described - named.own - named.above)
            + _REQUIRED * named.required
            + _IDENTITY * (bool(shape) and shape[-1].lower() in _IDENTITIES)
            + _DEPTH * len(shape)
        )
    items: dict[Path, float] = {}
    for leaf in leaves:
        words = _in_value(leaf)
        # The more of the value they are, the more they count.
        found = _VALUE * _sum(rare, words) * len(wanted.keys() & words) / max(1, len(words))
        leaf.score = shapes[shape_of(leaf.path)].score + found
        for item in _items(leaf.path) if found else ():
            items[item] = max(items.get(item, 0.0), found)
    before = _before(items)
    for leaf in leaves:
        for item in _items(leaf.path):
            leaf.score += _ITEM / _VALUE * items.get(item, 0.0) + _INDEX * min(before(item), 20)
        leaf.score += _LENGTH * min(len(str(leaf.value)), LONGEST_VALUE)
        leaf.score += _EMPTY * (leaf.value is None or leaf.value in ("", [], {}))
    return sorted(leaves, key=lambda leaf: -leaf.score)


def _rarity(wanted: Mapping[str, float], shapes: Collection[_Named]) -> dict[str, float]:
    """The weight of each word of a request: one that stands in few names and values tells more."""

    def met(word: str) -> int:
        return sum(word in shape.own or word in shape.above or word in shape.met for shape in shapes)

    return {word: weight * math.log(1 + len(shapes) / (1 + met(word))) for word, weight in wanted.items()}


def _sum(rare: Mapping[str, float], words: frozenset[str]) -> float:
    return sum(rare[word] for word in words if word in rare)


def _in_value(leaf: Leaf) -> frozenset[str]:
    """The words in a value that is a text or number."""
    if leaf.length or leaf.value is None or isinstance(leaf.value, bool | Mapping | list):
        return frozenset()
    return stems(str(leaf.value)[:LONGEST_VALUE])


def _before(items: Mapping[Path, float]) -> Callable[[Path], int]:
    """A counter of the items shown before one of its list: first those in which words of the request stand."""
    places: dict[Path, int] = {}
    found = Counter[Path]()
    for item in sorted(items, key=lambda item: -items[item]):
        places[item] = found[item[:-1]]
        found[item[:-1]] += 1
    return lambda item: places.get(item, int(item[-1]) + found[item[:-1]])


def _items(path: Path) -> Iterator[Path]:
    """The items of lists that a value is in."""
    return (path[: place + 1] for place, step in enumerate(path[:-1]) if isinstance(step, int))
