"""A query as every index understands it: parsed, with the plan of its search."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from codenav.core.blocks import BlockKind
from codenav.retrieval import analysis, descriptions, documents
from codenav.retrieval.plan import (
    Between,
    Constant,
    Everything,
    Join,
    Match,
    Near,
    Pattern,
    Plan,
    Sequence,
    Weighted,
    leaves,
)
from codenav.retrieval.query import tree
from codenav.retrieval.query.parser import Query, parse
from codenav.retrieval.query.regex import wildcard_regex
from codenav.retrieval.stems import STOP

NAME, NAME_PARTS, NAME_PREFIX = 6.0, 4.0, 2.0
TEXT, TEXT_PARTS = 1.0, 2.0
"""Factors of a match by field. A name must outweigh everything else; the values come from known-item search for
450 names of networkx 3.6 (tests/retrieval/test_retrieval_ranking.py)."""
JOINED, ALL_JOINED, ALL_PARTS = 10.0, 10.0, 7.0
"""Bonuses for words that form a name: neighbours joined to an identifier, all joined, all among its parts."""
MAX_JOINED = 8
"""The most words tried as one name; longer names get no bonus for typing all of their words."""
DESCRIBED = 0.1
"""The share of the score of a name that counts among words that describe: their other clauses score less."""
FILTER = 0.1
"""The score of a field that only narrows (`type:`, `file_path:`, `lines:`)."""

_WORTH: dict[str, tuple[tuple[str, float], ...]] = {
    "text": (
        ("name", NAME), ("name_parts", NAME_PARTS), ("text", TEXT), ("text_parts", TEXT_PARTS),
    ),
    "name": (("name", NAME), ("name_parts", NAME_PARTS)),
    "signature": (("signature", 1.0), ("signature_parts", 0.5)),
    "doc": (("doc_parts", 1.0),),
}  # fmt: skip


Term = tuple[str, str]
"""A field and a token."""


@dataclass(frozen=True)
class Understood:
    """A query as every index understands it."""

    read: Query
    plan: Plan
    words: tuple[str, ...]
    """The words that describe what is looked for; fewer than two name it."""

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms that the plan scores by their frequency."""
        return tuple(dict.fromkeys(terms(self.plan)))

    @property
    def described(self) -> bool:
        """True if the query describes what it looks for."""
        return len(self.words) > 1

    @property
    def again(self) -> bool:
        """True if its first hits are looked at again."""
        return self.described or self.read.plain


def understand(query: str, kinds: Collection[BlockKind] | None = None, *, near: bool = True) -> Understood:
    """A query, read and planned; kept for the next index that asks. `near`: see `plan`.

    Raises:
        QueryTooLarge: the query has over 64 KB.
    """
    return _understand(query, None if kinds is None else frozenset(kinds), near)


@lru_cache(maxsize=8)
def _understand(query: str, kinds: frozenset[BlockKind] | None, near: bool) -> Understood:
    read = parse(query)
    what = plan(read.tree, kinds=kinds, plain=read.plain, near=near)
    return Understood(read, what, descriptions.words(read.tree))


def plan(
    node: tree.Node, *, kinds: Collection[BlockKind] | None = None, plain: bool = False, near: bool = False
) -> Plan:
    """Make the plan for a parse tree; with `kinds`, only for blocks of those kinds.

    `plain`: words alone, which a block may match by a stem. `near`: plain words also stand for words of near meaning.
    """
    whole = _plain(node, near) if plain else _plan(node)
    if kinds is None:
        return whole
    wanted = Join(optional=tuple(Match("type", kind.value) for kind in sorted(set(kinds))))
    return Join(required=(whole, Constant(wanted, 0.0)))


def _plain(node: tree.Node, near: bool) -> Plan:
    """The plan for words side by side: names, or a description."""
    children = node.children if isinstance(node, tree.Or) else (node,)
    telling = descriptions.telling(word for child in children for word in descriptions.identifiers(child))
    if len(children) > 1 and len(telling) > 1:
        clauses = descriptions.described(telling, near=near)
        names = (Weighted(_plan(child), DESCRIBED) for child in descriptions.compounds(children))
        return Join(optional=(*clauses, *descriptions.verbatim(children), *names))
    clauses = descriptions.described(telling, near=near) if len(telling) == 1 else ()
    words = [child for child in children if not STOP.issuperset(descriptions.identifiers(child))] or children
    return Join(optional=(*map(_plan, words), *_together(children), *clauses))


def _plan(node: tree.Node) -> Plan:
    match node:
        case tree.And(children):
            required = tuple(_plan(child) for child in children if not isinstance(child, tree.Not))
            excluded = tuple(_plan(child.child) for child in children if isinstance(child, tree.Not))
            return Join(required or (Everything(),), _together(children), excluded)
        case tree.Or(children):
            either = Join(optional=(*map(_plan, children), *_together(children)))
            if len(descriptions.words(node)) > 1:
                # What must match must match: stems only order the blocks that have one of the words as written.
                return Join((Constant(either, 0.0),), (_plain(node, near=False),))
            return either
        case tree.Not(child):
            return Join(required=(Everything(),), excluded=(_plan(child),))
        case tree.Prefer(required, optional):
            return Join((_plan(required),), (_plan(optional),))
        case tree.Boost(child, factor):
            return Weighted(_plan(child), factor)
        case _:
            return _leaf(node)


def _leaf(leaf: tree.Leaf) -> Plan:
    match leaf:
        case tree.Words(field, words):
            return _words(field, words)
        case tree.Phrase(field, words, slop):
            return _phrase(field, words, slop)
        case tree.Wildcard(field, pattern):
            return _wildcard(field, pattern)
        case tree.Regex(field, pattern):
            return _patterns(field, pattern)
        case tree.Fuzzy(field, word, distance):
            token = word.lower()[: analysis.MAX_TOKEN]
            return _any(Constant(Near(name, token, distance), factor) for name, factor in _WORTH[field])
        case tree.Value(field, value):
            return Constant(_value(field, value), FILTER)
        case tree.Lines(first, last):
            overlap = (Between("first_line", None, last), Between("last_line", first, None))
            return Constant(Join(required=overlap), FILTER)
        case tree.Everything():
            return Everything()
        case tree.Nothing():
            return Join()


def _any(parts: Iterable[Plan]) -> Plan:
    return Join(optional=tuple(parts))


def _words(field: str, words: tuple[str, ...]) -> Plan:
    identifiers = _identifiers(words)
    each = tuple(_identifier(field, identifier) for identifier in identifiers)
    if len(each) < 2:
        return each[0] if each else Join()
    return Join(required=each, optional=(_phrase(field, tuple(identifiers), 0),))


def _identifiers(words: Iterable[str]) -> list[str]:
    return [identifier for word in words for identifier in analysis.words(word)]


def _identifier(field: str, identifier: str) -> Plan:
    found = _phrase_parts(field, (identifier,), 0)
    whole = analysis.whole_tokens(identifier)
    if field == "text" and len(whole) == 1 and analysis.MIN_PREFIX <= len(whole[0]) <= analysis.MAX_PREFIX:
        found.append(Weighted(Match("name_prefixes", whole[0]), NAME_PREFIX))
    return _any(found)


def _phrase(field: str, words: tuple[str, ...], slop: int) -> Plan:
    return _any(_phrase_parts(field, words, slop))


def _phrase_parts(field: str, words: tuple[str, ...], slop: int) -> list[Plan]:
    """One clause per field; fields that cannot contain these tokens, or not in order, are left out."""
    wholes: list[str] = []
    parts: list[str] = []
    for identifier in _identifiers(words):
        wholes += analysis.whole_tokens(identifier)
        parts += analysis.part_tokens(identifier)
    found: list[Plan] = []
    for name, factor in _WORTH[field]:
        tokens = parts if name.endswith("_parts") else wholes
        if name in documents.COMPOUNDS and wholes == parts:
            continue
        if tokens and (len(tokens) == 1 or name in documents.PHRASES):
            found.append(_weighted(_tokens(name, tokens, slop), factor))
    return found


def _weighted(part: Plan, factor: float) -> Plan:
    if isinstance(part, Pattern | Join) or (isinstance(part, Sequence) and part.slop):
        # Lucene weights a loose phrase by its distance and tantivy does not, so the score is a constant in both.
        return Constant(part, factor)
    return part if factor == 1 else Weighted(part, factor)


def _tokens(field: str, tokens: list[str], slop: int = 0) -> Plan:
    if slop:
        tokens = [token for token, _ in itertools.groupby(tokens)]
    if slop and len(tokens) > 2:
        # Engines differ in the distance of three words, and of a word from itself; for two words they agree.
        return Join(required=tuple(Sequence(field, pair, slop) for pair in itertools.pairwise(tokens)))
    if len(tokens) > 1:
        return Sequence(field, tuple(tokens), slop)
    token = tokens[0]
    if len(token) == 1 and analysis.is_cjk(token):
        return Pattern(field, f"{token}.?|.{token}")
    return Match(field, token)


def _wildcard(field: str, pattern: str) -> Plan:
    if field not in tree.TEXT_FIELDS:
        if field == "file_path":
            wanted = analysis.path_token(pattern)
            regex = wildcard_regex(wanted)
            named = Pattern("file_path", regex, wanted) if wanted[:1] == "*" else Pattern("file_path", f"(.*/)?{regex}")
            return Constant(named, FILTER)
        if pattern == "*":
            return Constant(Join(required=(Everything(),), excluded=(Match(field, analysis.SENTINEL),)), FILTER)
        wanted = analysis.keyword(pattern)
        return Constant(Pattern(field, wildcard_regex(wanted), wanted), FILTER)
    if pattern == "*":
        tokens = field if field == "name" else f"{field}_parts"
        return Join(required=(Everything(),), excluded=(Match(tokens, analysis.SENTINEL),))
    infix = pattern.startswith("*") and pattern.endswith("*")
    found = _patterns(field, wildcard_regex(pattern.lower()), parts=not infix, wildcard=pattern.lower())
    beginning = pattern[:-1].lower()
    is_prefix = pattern.endswith("*") and not set(beginning) & set("*?")
    if field in ("text", "name") and is_prefix and analysis.MIN_PREFIX <= len(beginning) <= analysis.MAX_PREFIX:
        return _any((Weighted(Match("name_prefixes", beginning), NAME), found))
    return found


def _patterns(field: str, regex: str, *, parts: bool = True, wildcard: str = "") -> Plan:
    """Clauses of a pattern per field; without `parts`, the parts of names are left out.

    That is for patterns that match a whole name whenever they match a part of it; `name` is the only field with all
    whole identifiers.
    """
    fields = _WORTH[field]
    if not parts:
        fields = tuple(pair for pair in fields if pair[0] != "name_parts")
    return _any(Constant(Pattern(name, regex, wildcard), factor) for name, factor in fields)


def _value(field: str, value: str) -> Plan:
    if field == "type":
        return Match("type", value)
    if field == "file_path":
        parts = [part for part in analysis.path_token(value).split("/") if part]
        return _tokens("path_parts", parts) if parts else Everything()
    return Match(field, analysis.keyword(value))


def _together(children: Iterable[tree.Node]) -> tuple[Plan, ...]:
    """The bonus clauses for words that form one name: `shortest path` for `shortest_path`."""
    words = [
        word for child in children if isinstance(child, tree.Words) and child.field in ("text", "name")
        for word in child.words
    ]  # fmt: skip
    identifiers = [word.lower() for word in _identifiers(words)]
    parts = [part for word in _identifiers(words) for part in analysis.part_tokens(word)]
    if not 2 <= len(identifiers) <= MAX_JOINED or not parts:
        return ()
    runs = [
        identifiers[begin:end] for begin in range(len(identifiers)) for end in range(begin + 2, len(identifiers) + 1)
    ]
    some = _any(name for run in runs for name in _as_name(run))
    whole = _any(_as_name(identifiers))
    every = Join(required=tuple(Match("name_parts", part) for part in dict.fromkeys(parts)))
    return Weighted(some, JOINED), Weighted(whole, ALL_JOINED), Weighted(every, ALL_PARTS)


def _as_name(run: list[str]) -> list[Plan]:
    """The clauses for words as one identifier, `load_model` or `LoadModel`, both in lower case."""
    return [Match("name", joint.join(run)[: analysis.MAX_TOKEN]) for joint in ("_", "")]


def terms(what: Plan) -> Iterator[Term]:
    """The terms that a plan scores by their frequency; some come twice."""
    for leaf in leaves(what, scored=True):
        match leaf:
            case Match(field, token):
                yield field, token
            case Sequence(field, tokens):
                yield from ((field, token) for token in tokens)
