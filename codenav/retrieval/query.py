"""The query language: a tolerant parser. It never refuses a text, it says how it read it.

The Lucene query-string subset that models know, with three readings of its own. `NOT` binds closest, then words
side by side (any of them), then `AND`, then `OR`: so `type:FUNCTION AND shortest path` wants a function with either
word. A colon makes a field only after a known name. Brackets and operators inside code (`f(x, -y)`) are text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from codenav.errors import QueryTooLarge
from codenav.retrieval import query_tree as tree
from codenav.retrieval.query_clauses import MAX_CLAUSES, Clauses
from codenav.retrieval.query_tree import FIELD, Node, all_of, any_of, negated

MAX_BYTES = 64 * 1024
"""Of a query in UTF-8."""
MAX_HEIGHT = 12
"""Levels of operators that are kept. Elasticsearch refuses trees of over 30, and a level can become two of them."""
MAX_PARENTHESES = 50
"""Levels of parentheses that are read, redundant ones included."""


@dataclass(frozen=True)
class Query:
    """A query as it was understood."""

    tree: Node
    read_as: str
    """The tree in the query language; parsing it gives the same tree."""
    repairs: tuple[str, ...] = ()
    """What was mended, one sentence each."""


def parse(text: str) -> Query:
    """Read a query. Any text is one.

    Raises:
        QueryTooLarge: it has over 64 KB.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise QueryTooLarge(f"the query has {size:,} bytes, over {MAX_BYTES:,}")
    parser = _Parser(text)
    node = parser.whole()
    low = tree.flattened(node, MAX_HEIGHT)
    if low != node:
        parser.tell(f"operators nested over {MAX_HEIGHT} deep were read as a list of words")
    if isinstance(low, tree.Nothing):
        parser.tell("the query holds nothing to look for")
    return Query(low, tree.render(low), tuple(parser.repairs))


_BINARY = re.compile(r"(AND|OR)(?=[\s()\"']|\Z)|(&&|\|\|)")
_NOT = re.compile(r"NOT(?=[\s()\"']|\Z)")
_SMALL = re.compile(rf"(and|or|not)(?=\s*\(|\s+{FIELD.pattern})", re.IGNORECASE)
_SIGN = re.compile(r"[+!-](?=[+!-]{0,3}(?:[^\W\d]|[\"'(*?\\/]))|[+!](?=[+!-]{0,3}\d)")


@dataclass
class _Run:
    """Words side by side, with their signs."""

    must: list[Node] = field(default_factory=list)
    may: list[Node] = field(default_factory=list)
    never: list[Node] = field(default_factory=list)

    def node(self) -> Node:
        never = [negated(child) for child in self.never]
        if self.must:
            return tree.preferring(all_of([*self.must, *never]), any_of(self.may))
        return all_of([any_of(self.may), *never])


class _Parser(Clauses):
    def whole(self) -> Node:
        node = self.expression("text", 0)
        if self.clauses <= 0 and self.rest():
            self.at = len(self.text)
            self.tell(f"only the first {MAX_CLAUSES:,} words were used")
        if self.junk:
            some = " ".join(item[:20] for item in list(self.junk)[:5])
            self.tell(f"punctuation was left out: {some}")
        return node

    def expression(self, name: str, depth: int) -> Node:
        """Up to the end or to the parenthesis that closes this group."""
        ors: list[Node] = []
        ands: list[Node] = []
        run = _Run()
        operator = ""
        while self.clauses > 0 and self.rest():
            if self.text[self.at] == ")":
                if depth and not self.code:
                    break
                self.close()
                continue
            found = self.operator()
            if not found:
                self.clause(run, name, depth)
                continue
            node = run.node()
            if isinstance(node, tree.Nothing):
                self.dangling(operator or found)
            ands.append(node)
            run, operator = _Run(), found
            if found == "OR":
                ors.append(all_of(ands))
                ands = []
        node = run.node()
        if operator and isinstance(node, tree.Nothing):
            self.dangling(operator)
        return any_of([*ors, all_of([*ands, node])])

    def dangling(self, operator: str) -> None:
        self.tell(f"{operator} without a word beside it was left out")

    def close(self) -> None:
        """A closing parenthesis that closes no group."""
        self.at += 1
        if self.code:
            self.code -= 1
        else:
            self.tell("a closing parenthesis without an opening one was left out")

    def operator(self) -> str:
        """`AND`, `OR`, or nothing, eaten."""
        match = self.eat(_BINARY)
        if match:
            self.code = 0
            return {"&&": "AND", "||": "OR"}.get(match.group(), match.group())
        small = _SMALL.match(self.text, self.at) if not self.code else None
        if small and small[1].lower() in ("and", "or"):
            self.at = small.end(1)
            self.tell(f"{small[1]} was read as {small[1].upper()}")
            return small[1].upper()
        return ""

    def clause(self, run: _Run, name: str, depth: int) -> None:
        never = must = False
        while self.rest():
            small = _SMALL.match(self.text, self.at) if not self.code else None
            if self.eat(_NOT):
                self.code = 0
                never = not never
            elif small and small[1].lower() == "not":
                self.at = small.end(1)
                self.tell(f"{small[1]} was read as NOT")
                never = not never
            elif not self.code and (sign := self.eat(_SIGN)):
                must, never = must or sign.group() == "+", never != (sign.group() in "-!")
            else:
                break
        if self.rest() and not self.operator_next() and self.text[self.at] != ")":
            node = self.boost(self.primary(name, depth))
            (run.never if never else run.must if must else run.may).append(node)
        elif never or must:
            self.dangling("NOT" if never else "+")

    def operator_next(self) -> bool:
        return bool(_BINARY.match(self.text, self.at))

    def primary(self, name: str, depth: int) -> Node:
        named = FIELD.match(self.text, self.at) if not self.code else None
        if named:
            self.at = named.end()
            name = tree.ALIASES.get(named[1].lower(), named[1].lower())
            if not self.rest() or self.text[self.at] == ")" or self.operator_next() or self.field_next():
                self.tell(f"{name}: without a value was left out")
                return tree.Nothing()
        if self.text[self.at] == "(" and not self.code:
            return self.group(name, depth)
        return self.value(name)

    def field_next(self) -> bool:
        return bool(FIELD.match(self.text, self.at))

    def group(self, name: str, depth: int) -> Node:
        self.at += 1
        if depth >= MAX_PARENTHESES:
            self.code += 1
            self.tell(f"parentheses nested over {MAX_PARENTHESES} deep were left out")
            return tree.Nothing()
        node = self.expression(name, depth + 1)
        self.code = 0
        if self.text[self.at : self.at + 1] == ")":
            self.at += 1
        elif self.clauses > 0:
            self.tell("an opening parenthesis was closed at the end")
        return node
