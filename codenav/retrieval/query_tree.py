"""The parse tree of the query language, its normal form, and the canonical rendering of it.

Every store translates this tree; no query text ever reaches an engine. `render(tree)` is in the query language
again, and parsing it gives the same tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from codenav.retrieval.query_fields import FIELD
from codenav.retrieval.query_fields import KEYWORD_FIELDS as KEYWORD_FIELDS
from codenav.retrieval.query_fields import TEXT_FIELDS as TEXT_FIELDS
from codenav.retrieval.query_places import place_at
from codenav.retrieval.query_values import LANGUAGES, names_kind

OPERATORS = ("AND", "OR", "NOT", "NEAR", "ADJ", "XOR")


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
    """Matches a whole identifier; `pattern` is in the dialect of `query_regex`."""

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
    given = [child for child in children if not isinstance(child, Nothing)]
    if len(given) < 2:
        return given[0] if given else Nothing()
    flat: dict[Node, None] = {}
    for child in given:
        for part in child.children if isinstance(child, join) else (child,):
            flat[part] = None
    return join(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def negated(child: Node) -> Node:
    """`Not` in normal form: a double negation is none, and nothing negated is nothing asked."""
    if isinstance(child, Not):
        return child.child
    return child if isinstance(child, Nothing) else Not(child)


def preferring(required: Node, optional: Node) -> Node:
    """`Prefer` in normal form."""
    if isinstance(required, Nothing):
        return optional
    return required if isinstance(optional, Nothing | Everything) else Prefer(required, optional)


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
                return f"+{_inside(required, free=())} {_inside(optional, free=())}"
            return " ".join(
                _beside(f"{sign}{_inside(child, free=())}")
                for sign, child in [("+", required), *(("", child) for child in more)]
            )
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
    """Whether words without a field would be read as a file or as a qualified name."""
    if len(words) > 2 and words[0] not in ("self", "cls", "this", "super"):
        return all(_IDENTIFIER.match(word) for word in words) or place_at(".".join(words), 0) is not None
    return len(words) > 1 and place_at(".".join(words), 0) is not None


def _goes_on(before: str, text: str) -> bool:
    """Whether a text behind `OR` would be read as another value of the field before it."""
    if text.startswith('"'):
        return bool(
            re.search(r'\b(?:file_path|source|calls|language|type|name|doc|signature):"(?:[^"\\]|\\.)*"\Z', before)
        )
    field = re.search(r'\b(type|language|file_path):(?:"(?:[^"\\]|\\.)*"|(?:\\.|[^\s\\()])+)\Z', before)
    if field is None:
        return False
    if field[1] == "file_path":
        return bool(re.match(r"[^\s:,()]*(?:[/*]|\.\w{1,5}(?:\s|\Z))", text))
    first = text.split(" ", 1)[0]
    return names_kind(first) if field[1] == "type" else first.lower() in LANGUAGES


def _beside(text: str) -> str:
    """A word that would begin a definition or an import, made a plain one."""
    return re.sub(rf"\A(\+?)(?=(?:{_BEGINS})\Z)", r"\1\\", text)


def _bound(number: int | None) -> str:
    return "*" if number is None else str(number)


def _plain(value: str) -> bool:
    return bool(_SAFE.fullmatch(value)) and not FIELD.match(value) and value.upper() not in OPERATORS


def _escaped(pattern: str) -> str:
    """A wildcard pattern with its white space and brackets escaped, and what would read as a field or an operator."""
    safe = _UNSAFE.sub(_escape, pattern)
    return safe.replace(":", "\\:", 1) if FIELD.match(safe) else safe


_BEGINS = "def|class|func|fn|function|struct|interface|trait|enum|impl|async|export|default|pub|File|from|import"
_IDENTIFIER = re.compile(r"[^\W\d]")
_SAFE = re.compile(r"[\w.](?:[\w./@:+-]*[\w/])?")
_ESCAPED = re.compile(r'["\\*?]')
_UNSAFE = re.compile(r"""[\s()"'^~,;`|]|\A[:&/+!-]""")


def _escape(match: re.Match[str]) -> str:
    return "\\" + match.group()
