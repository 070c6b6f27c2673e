"""The parse tree of the query language, its normal form, and the canonical rendering of it.

Every store translates this tree; no query text ever reaches an engine. `render(tree)` is in the query language
again, and parsing it gives the same tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

TEXT_FIELDS = ("text", "name", "doc", "signature")
"""Fields whose values are analysed into identifiers (`codenav.retrieval.analysis`)."""
KEYWORD_FIELDS = ("type", "file_path", "language", "source")
"""Fields whose values are taken literally."""
ALIASES = {"kind": "type", "path": "file_path"}
OPERATORS = ("AND", "OR", "NOT")


@dataclass(frozen=True, slots=True)
class Words:
    """One word of the query: all of its identifiers, best side by side (`np.mean` is `np` and `mean`)."""

    field: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Identifiers side by side; `slop` is how many positions they may be apart in all."""

    field: str
    words: tuple[str, ...]
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Value:
    """A literal value of a keyword field. For `type` the name of a `BlockKind`."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`*` stands for any characters, `?` for one; a backslash takes the meaning from `*`, `?` and itself."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Regex:
    """Matches a whole identifier; `pattern` is in the dialect of `query_values.plain_regex`."""

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
    """Blocks that overlap a range of lines, 1-based, both ends included; None is open."""

    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Everything:
    """Every block."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No block: an empty query."""


@dataclass(frozen=True, slots=True)
class And:
    """All of at least two."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of at least two."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Everything else."""

    child: Node


@dataclass(frozen=True, slots=True)
class Prefer:
    """`+required optional`: the optional part only raises the score."""

    required: Node
    optional: Node


@dataclass(frozen=True, slots=True)
class Boost:
    """The score of `child` times `factor`."""

    child: Node
    factor: float


Leaf = Words | Phrase | Value | Wildcard | Regex | Fuzzy | Lines | Everything | Nothing
Node = Leaf | And | Or | Not | Prefer | Boost


def all_of(children: Iterable[Node]) -> Node:
    """`And` in normal form: flat, without repetition or empty parts."""
    return _joined(And, children)


def any_of(children: Iterable[Node]) -> Node:
    """`Or` in normal form: flat, without repetition or empty parts."""
    return _joined(Or, children)


def _joined(join: type[And] | type[Or], children: Iterable[Node]) -> Node:
    flat: dict[Node, None] = {}
    for child in children:
        for part in child.children if isinstance(child, join) else (child,):
            if not isinstance(part, Nothing):
                flat[part] = None
    if len(flat) < 2:
        return next(iter(flat), Nothing())
    return join(tuple(flat))


def negated(child: Node) -> Node:
    """`Not` in normal form: a double negation is none, and nothing negated is nothing asked."""
    if isinstance(child, Not):
        return child.child
    return child if isinstance(child, Nothing) else Not(child)


def preferring(required: Node, optional: Node) -> Node:
    """`Prefer` in normal form."""
    if isinstance(required, Nothing):
        return optional
    return required if isinstance(optional, Nothing) else Prefer(required, optional)


def boosted(child: Node, factor: float) -> Node:
    """`Boost` in normal form."""
    if isinstance(child, Boost):
        factor *= child.factor
        child = child.child
    factor = float(f"{min(max(factor, MIN_BOOST), MAX_BOOST):.4g}")
    return child if factor == 1 or isinstance(child, Nothing) else Boost(child, factor)


MIN_BOOST, MAX_BOOST = 0.01, 1000.0
"""The range of `^`: beyond it one clause would only drown the others in rounding."""


def flattened(node: Node, height: int) -> Node:
    """The tree with at most `height` levels of operators: what is deeper becomes a list of its leaves."""
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
    """The leaves that a match can have: those under a `Not` are left out."""
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
    """A tree in the query language; the empty tree is the empty text."""
    match node:
        case And(children):
            return " AND ".join(_inside(child) for child in children)
        case Or(children):
            return " OR ".join(_inside(child, free=(And, Not)) for child in children)
        case Not(child):
            return f"NOT {_inside(child)}"
        case Prefer(required, optional):
            more = optional.children if isinstance(optional, Or) else (optional,)
            return " ".join([f"+{_inside(required, free=())}", *(_inside(child, free=()) for child in more)])
        case Boost(child, factor):
            return f"{_inside(child, free=())}^{factor:g}"
        case _:
            return _leaf(node)


def _inside(node: Node, *, free: tuple[type, ...] = (Not,)) -> str:
    """A part of a bigger expression: in parentheses unless it is a leaf, a boost or of a `free` type."""
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
            return _prefix(field) + _words(words)
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


def _bound(number: int | None) -> str:
    return "*" if number is None else str(number)


def _plain(value: str) -> bool:
    return bool(_SAFE.fullmatch(value)) and not FIELD.match(value) and value.upper() not in OPERATORS


def _escaped(pattern: str) -> str:
    """A wildcard pattern with its white space and brackets escaped, and what would read as a field or an operator."""
    safe = _UNSAFE.sub(_escape, pattern)
    return safe.replace(":", "\\:", 1) if FIELD.match(safe) else safe


FIELD = re.compile(rf"({'|'.join((*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, 'lines'))})[ \t]*:(?!:)", re.IGNORECASE)
"""A field's name and its colon, as they begin a clause."""
_SAFE = re.compile(r"[\w./](?:[\w./@:+-]*[\w/])?")
_ESCAPED = re.compile(r'["\\*?]')
_UNSAFE = re.compile(r"""[\s()"'^~,;`]|\A[:&|]""")


def _escape(match: re.Match[str]) -> str:
    return "\\" + match.group()
