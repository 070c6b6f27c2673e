"""The parse tree of the query language, its normal form, and its canonical rendering.

Every store translates this tree; no query text ever reaches an engine. `render(tree)` is a query again, and parsing
it gives the same tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from codenav.retrieval.query.fields import FIELD, FURTHER_VALUE, continues
from codenav.retrieval.query.fields import KEYWORD_FIELDS as KEYWORD_FIELDS
from codenav.retrieval.query.fields import TEXT_FIELDS as TEXT_FIELDS
from codenav.retrieval.query.places import place_at

OPERATORS = ("AND", "OR", "NOT")


@dataclass(frozen=True, slots=True)
class Words:
    """A word of the query: all of its identifiers must match, best side by side (`np.mean` is `np` and `mean`)."""

    field: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Identifiers side by side; `slop` is the number of positions by which they may be apart in total."""

    field: str
    words: tuple[str, ...]
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Value:
    """A literal value of a keyword field; for `type`, the name of a `BlockKind`."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A pattern in which `*` stands for any characters and `?` for one; a backslash escapes `*`, `?` and itself."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression for a whole identifier, in the dialect of `regex.py`."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """An identifier within `distance` (1 or 2) edits of `word`."""

    field: str
    word: str
    distance: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Blocks that overlap a range of lines, 1-based, both ends included; None for an open end."""

    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Everything:
    """Every block."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No block, as for an empty query."""


@dataclass(frozen=True, slots=True)
class And:
    """Blocks that match all children, at least two."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Blocks that match any child of at least two."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Blocks that do not match `child`."""

    child: Node


@dataclass(frozen=True, slots=True)
class Prefer:
    """Blocks that match `required`; `optional` only raises the score. Written `+required optional`."""

    required: Node
    optional: Node


@dataclass(frozen=True, slots=True)
class Boost:
    """Blocks that match `child`, their score multiplied by `factor`."""

    child: Node
    factor: float


Leaf = Words | Phrase | Value | Wildcard | Regex | Fuzzy | Lines | Everything | Nothing
Node = Leaf | And | Or | Not | Prefer | Boost


def all_of(children: Iterable[Node]) -> Node:
    """Make an `And` in normal form: flat, without repetition or empty parts."""
    return _joined(And, children)


def any_of(children: Iterable[Node]) -> Node:
    """Make an `Or` in normal form: flat, without repetition or empty parts."""
    return _joined(Or, children)


def _joined(join: type[And] | type[Or], children: Iterable[Node]) -> Node:
    given = [child for child in children if not isinstance(child, Nothing)]
    if len(given) < 2:
        return given[0] if given else Nothing()
    flat: dict[Node, None] = {}
    for child in given:
        for part in child.children if isinstance(child, join) else (child,):
            flat[part] = None
    return join(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def negated(child: Node) -> Node:
    """Make a `Not` in normal form: a double negation is dropped, and `Nothing` stays `Nothing`."""
    if isinstance(child, Not):
        return child.child
    return child if isinstance(child, Nothing) else Not(child)


def preferring(required: Node, optional: Node) -> Node:
    """Make a `Prefer` in normal form."""
    if isinstance(required, Nothing):
        return optional
    return required if isinstance(optional, Nothing | Everything) else Prefer(required, optional)


def boosted(child: Node, factor: float) -> Node:
    """Make a `Boost` in normal form."""
    if isinstance(child, Boost):
        factor *= child.factor
        child = child.child
    factor = float(f"{min(max(factor, MIN_BOOST), MAX_BOOST):.4g}")
    return child if factor == 1 or isinstance(child, Nothing) else Boost(child, factor)


MIN_BOOST, MAX_BOOST = 0.01, 1000.0
"""The range of `^`: beyond it, the scores of other clauses would be lost in rounding."""


def flattened(node: Node, height: int) -> Node:
    """Limit a tree to `height` levels of operators: deeper parts become a list of their leaves."""
    if height == 0 and isinstance(node, And | Or | Not | Prefer | Boost):
        return any_of(leaves(node))
    match node:
        case And(children):
            return all_of(flattened(child, height - 1) for child in children)
        case Or(children):
            return any_of(flattened(child, height - 1) for child in children)
        case Not(child):
            return negated(flattened(child, height - 1))
        case Boost(child, factor):
            return boosted(flattened(child, height - 1), factor)
        case Prefer(required, optional):
            return preferring(flattened(required, height - 1), flattened(optional, height - 1))
        case _:
            return node


def leaves(node: Node) -> list[Leaf]:
    """The leaves that can match; those under a `Not` are left out."""
    match node:
        case And(children) | Or(children):
            return [leaf for child in children for leaf in leaves(child)]
        case Prefer(required, optional):
            return leaves(required) + leaves(optional)
        case Boost(child, _):
            return leaves(child)
        case Not(_):
            return []
        case _:
            return [node]


def render(node: Node) -> str:
    """Write a tree in the query language; the empty tree gives ""."""
    match node:
        case And(children):
            return " AND ".join(_inside(child) for child in children)
        case Or(children):
            parts: list[str] = []
            for child in children:
                part = _inside(child, free=(And, Not))
                parts.append(f"text:{part}" if parts and _goes_on(parts[-1], part) else part)
            return " OR ".join(parts)
        case Not(child):
            return f"NOT {_inside(child)}"
        case Prefer(required, optional):
            more = optional.children if isinstance(optional, Or) else (optional,)
            if not all(isinstance(child, Words | Phrase) for child in more):
                return f"{_beside(f'+{_inside(required, free=())}')} {_beside(_inside(optional, free=()))}"
            return " ".join(
                _beside(f"{sign}{_inside(child, free=())}")
                for sign, child in [("+", required), *(("", child) for child in more)]
            )
        case Boost(child, factor):
            return f"{_inside(child, free=())}^{factor:g}"
        case _:
            return _leaf(node)


def _inside(node: Node, *, free: tuple[type, ...] = (Not,)) -> str:
    """Render a part of a larger expression, in parentheses unless it is a leaf, a boost or of a `free` type."""
    compound = isinstance(node, And | Or | Not | Prefer) and not isinstance(node, free)
    return f"({render(node)})" if compound else render(node)


def _leaf(leaf: Leaf) -> str:
    match leaf:
        case Everything():
            return "*"
        case Nothing():
            return ""
        case Lines(first, last):
            return f"lines:[{_bound(first)} TO {_bound(last)}]"
        case Words(field, words):
            if field == "name" and len(words) > 1:
                return "name:" + "-".join(words)
            return ("text:" if field == "text" and _implied(words) else _prefix(field)) + _words(words)
        case Phrase(field, words, slop):
            return f'{_prefix(field)}"{" ".join(words)}"' + (f"~{slop}" if slop else "")
        case Fuzzy(field, word, distance):
            return f"{_prefix(field)}{word}~{distance}"
        case Regex(field, pattern):
            return f"{_prefix(field)}/{pattern.replace('/', chr(92) + '/')}/"
        case Value(field, value):
            return _prefix(field) + (value if _plain(value) else f'"{_ESCAPED.sub(_escape, value)}"')
        case Wildcard(field, pattern):
            return _prefix(field) + (pattern if field in TEXT_FIELDS else _escaped(pattern))


def _prefix(field: str) -> str:
    return "" if field == "text" else f"{field}:"


def _words(words: tuple[str, ...]) -> str:
    text = ".".join(words)
    return "\\" + text if text in OPERATORS or text.lower() in ("and", "or", "not") else text


def _implied(words: tuple[str, ...]) -> bool:
    """True if words without a field would be read as a file or as a qualified name."""
    if len(words) > 2 and words[0] not in ("self", "cls", "this", "super"):
        return all(_IDENTIFIER.match(word) for word in words) or place_at(".".join(words), 0) is not None
    return len(words) > 1 and place_at(".".join(words), 0) is not None


def _goes_on(before: str, text: str) -> bool:
    """True if a text after `OR` would be read as another value of the field before it."""
    if text.startswith('"'):
        if re.search(r'\b(?:file_path|source|calls|language|type|name|doc|signature):"(?:[^"\\]|\\.)*"\Z', before):
            return True
        text = text.strip('"')
    field = re.search(r'\b(type|language|file_path):(?:"(?:[^"\\]|\\.)*"|(?:\\.|[^\s\\()])+)\Z', before)
    further = re.match(FURTHER_VALUE, text)
    return bool(field and further and continues(field[1], further[1]))


def _beside(text: str) -> str:
    """Escape a word that would otherwise begin a definition or an import."""
    return re.sub(rf"\A(\+?)(?=(?:{_BEGINS})\Z)", r"\1\\", text)


def _bound(number: int | None) -> str:
    return "*" if number is None else str(number)


def _plain(value: str) -> bool:
    return bool(_SAFE.fullmatch(value)) and not FIELD.match(value) and value.upper() not in OPERATORS


def _escaped(pattern: str) -> str:
    """Escape white space, brackets, and anything in a wildcard pattern that would be read as a field or an operator."""
    safe = _UNSAFE.sub(_escape, pattern)
    return safe.replace(":", "\\:", 1) if FIELD.match(safe) else safe


_BEGINS = "def|class|func|fn|function|struct|interface|trait|enum|impl|async|export|default|pub|File|from|import"
_IDENTIFIER = re.compile(r"[^\W\d]")
_SAFE = re.compile(r"[\w.](?:[\w./@:+-]*[\w/])?")
_ESCAPED = re.compile(r'["\\*?]')
_UNSAFE = re.compile(r"""[\s()"'^~,;`|]|\A[:&/+!-]""")


def _escape(match: re.Match[str]) -> str:
    return "\\" + match.group()
