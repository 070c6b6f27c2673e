"""The query language: a tolerant parser that never refuses a text, and reports how it read it.

The language is the Lucene query-string subset that models know, with four differences. `NOT` binds most tightly, then
words side by side (any of them), then `AND`, then `OR`: so `type:FUNCTION AND shortest path` asks for a function with
either word. Fields that narrow (`type:`, `file_path:`, `language:`, `source:`, `calls:`, `lines:`) narrow the words
next to them. A colon makes a field only after a known name. Brackets and operators inside code (`f(x, -y)`) are text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from codenav.core.errors import QueryTooLarge
from codenav.retrieval.query import tree
from codenav.retrieval.query.clauses import Clauses
from codenav.retrieval.query.fields import ALIASES, DEFINES, DEFINING, EQUALS, FIELD, near_field
from codenav.retrieval.query.literals import MAX_CLAUSES
from codenav.retrieval.query.repairs import cleaned
from codenav.retrieval.query.tree import Node, all_of, any_of, negated

MAX_BYTES = 64 * 1024
"""Size limit of a query, in UTF-8."""
MAX_HEIGHT = 12
"""The most levels of operators kept. Elasticsearch refuses trees of over 30, and one level can become two there."""
MAX_PARENTHESES = 50
"""The most levels of parentheses read, redundant ones included."""
MAX_STEPS = 8 * MAX_CLAUSES
"""The most words and punctuation marks looked at: 64 KB of brackets would take a second."""


@dataclass(frozen=True)
class Query:
    """A parsed query."""

    tree: Node
    read_as: str
    """The tree in the query language; parsing it gives the same tree."""
    repairs: tuple[str, ...] = ()
    """The repairs, one sentence each."""
    plain: bool = False
    """Words alone, without any operator."""


def parse(text: str) -> Query:
    """Parse a query. Any text is valid.

    Raises:
        QueryTooLarge: the text has over 64 KB.
    """
    size = len(text) if text.isascii() or len(text) > MAX_BYTES else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise QueryTooLarge(f"the query has {size:,} bytes, over {MAX_BYTES:,}")
    plain, repairs = cleaned(text)
    parser = _Parser(plain)
    parser.repairs |= dict.fromkeys(repairs)
    node = parser.whole()
    low = tree.flattened(node, MAX_HEIGHT)
    if low != node:
        parser.tell(f"operators nested over {MAX_HEIGHT} deep were read as a list of words")
    if isinstance(low, tree.Nothing):
        parser.tell("the query holds nothing to look for")
    beside = "" if parser.either else _beside(low)
    return Query(low, beside or tree.render(low), tuple(parser.repairs), plain=bool(beside))


def _beside(node: Node) -> str:
    """Plain words side by side; "" if the tree holds more, or if they would be read as more."""
    children = node.children if isinstance(node, tree.Or) else (node,)
    if not all(isinstance(child, tree.Words) and child.field == "text" for child in children):
        return ""
    text = " ".join(map(tree.render, children))
    if len(children) < 2:
        return text if len(getattr(node, "words", ())) == 1 else ""
    again = _Parser(cleaned(text)[0])
    return text if again.whole() == node and not again.repairs and not again.either else ""


_BINARY = re.compile(r"(AND|OR)(?=[\s()\"']|\Z)|(&&|\|\|)")
_NOT = re.compile(r"NOT(?=[\s()\"']|\Z)")
_SMALL = re.compile(rf"(and|or|not)(?=\s*\(|\s+{FIELD.pattern})", re.IGNORECASE | re.ASCII)
_FILLER = re.compile(r"(and|or)(?=\s+\S)", re.IGNORECASE)
_SIGN = re.compile(r"[+!-](?=[+!-]{0,3}(?:[^\W\d]|[\"'(*?\\/]))|[+!](?=[+!-]{0,3}\d)")
_OPENING = re.compile(r"[(\s]+")
_PREFIX = re.compile(r"[rbfuRBFU]{1,2}(?=[\"'])")


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
        narrow: dict[str, list[Node]] = {}
        words: list[Node] = []
        for child in self.may:
            name = _narrows(child)
            (narrow.setdefault(name, []) if name else words).append(child)
        return all_of([*map(any_of, narrow.values()), any_of(words), *never])

    @property
    def mixed(self) -> bool:
        """True if some clauses narrow others."""
        return (
            not self.must
            and bool({_narrows(child) for child in self.may} - {""})
            and len({_narrows(child) for child in self.may}) > 1
        )


def _narrows(node: Node) -> str:
    """The field of a clause that only narrows, else ""."""
    fields = {getattr(leaf, "field", "lines" if isinstance(leaf, tree.Lines) else "") for leaf in tree.leaves(node)}
    if isinstance(node, tree.Prefer | tree.Not) and not fields <= {*tree.KEYWORD_FIELDS, "lines"}:
        fields = {getattr(leaf, "field", "") for leaf in tree.leaves(getattr(node, "required", node))}
    return min(fields) if fields and fields <= {*tree.KEYWORD_FIELDS, "lines"} else ""


class _Parser(Clauses):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.steps = MAX_STEPS
        self.required = False
        """True if the clause just read is required next to others: `class: Loader fast`."""
        self.either = False
        """True once an `OR` was read."""

    def whole(self) -> Node:
        node = self.expression("", 0)
        if self.clauses <= 0 and self.rest():
            self.at = len(self.text)
            self.tell(
                f"only the first {MAX_CLAUSES:,} words were used" if self.steps else "the end was left out: too long"
            )
        if self.junk:
            some = " ".join(item[:20] for item in list(self.junk)[:5])
            self.tell(f"punctuation was left out: {some}")
        if isinstance(node, tree.Nothing) and self.spare:
            self.tell("nothing else was asked for, so its words were searched for")
            return any_of(self.spare)
        return node

    def expression(self, name: str, depth: int) -> Node:
        """Read an expression, up to the end or to the parenthesis that closes this group."""
        ors: list[Node] = []
        ands: list[Node] = []
        run = _Run()
        operator = ""
        while self.clauses > 0 and self.rest():
            self.steps -= 1
            if not self.steps:
                self.clauses = 0
                break
            if self.text[self.at] in ",;|" and not _BINARY.match(self.text, self.at):
                self.at += 1
                continue
            if self.text[self.at] == ")":
                if depth:
                    break
                self.at += 1
                self.tell("a closing parenthesis without an opening one was left out")
                continue
            found = self.operator(bool(run.may or run.must))
            if not found:
                self.clause(run, name, depth)
                continue
            node = self.joined(run)
            if isinstance(node, tree.Nothing):
                self.dangling(operator or found)
            ands.append(node)
            run, operator = _Run(), found
            if found == "OR":
                self.either = True
                ors.append(all_of(ands))
                ands = []
        node = self.joined(run)
        if operator and isinstance(node, tree.Nothing):
            self.dangling(operator)
        return any_of([*ors, all_of([*ands, node])])

    def joined(self, run: _Run) -> Node:
        words: list[Node] = [child for child in run.may if not isinstance(child, tree.Everything)]
        if len(words) < len(run.may) and (words or run.must):
            run.may = words
            self.tell("a * beside other words was left out")
        if run.mixed:
            names = dict.fromkeys(name for child in run.may if (name := _narrows(child)))
            self.tell(f"{', '.join(f'{name}:' for name in names)} beside other words was read with AND")
        return run.node()

    def dangling(self, operator: str) -> None:
        self.tell(f"{operator} without a word beside it was left out")

    def operator(self, running: bool) -> str:
        """Read an operator: `AND`, `OR`, or "" if there is none here."""
        match = self.eat(_BINARY)
        if match:
            return {"&&": "AND", "||": "OR"}.get(match.group(), match.group())
        small = _SMALL.match(self.text, self.at)
        if small and small[1].lower() in ("and", "or"):
            self.at = small.end(1)
            self.tell(f"{small[1]} was read as {small[1].upper()}")
            return small[1].upper()
        if running and (filler := self.eat(_FILLER)):
            self.tell(f"{filler[1]} was left out: {filler[1].upper()} in capitals combines")
        return ""

    def clause(self, run: _Run, name: str, depth: int) -> None:
        never = must = False
        while self.rest():
            small = _SMALL.match(self.text, self.at)
            if self.eat(_NOT):
                never = not never
            elif small and small[1].lower() == "not":
                self.at = small.end(1)
                self.tell(f"{small[1]} was read as NOT")
                never = not never
            elif sign := self.eat(_SIGN):
                must, never = must or sign.group() == "+", never != (sign.group() in "-!")
            else:
                break
        if not self.rest() or _BINARY.match(self.text, self.at) or self.text[self.at] == ")":
            if never or must:
                self.dangling("NOT" if never else "+")
            return
        outer, self.strict = self.strict, self.strict or never
        self.required = False
        node = self.boost(self.primary(name, depth))
        self.strict, must, self.required = outer, must or self.required, False
        if not isinstance(node, tree.Nothing):
            (run.never if never else run.must if must else run.may).append(node)

    def primary(self, name: str, depth: int) -> Node:
        defines = self.eat(DEFINES) if not name else None
        if defines:
            self.alone = self.required = True
            kinds = DEFINING[defines[1].lower()]
            said = " or ".join(kinds)
            self.tell(f"{defines[1]}: was read as the name of a {said}")
            return all_of([any_of(tree.Value("type", kind) for kind in kinds), self.value("name")])
        named = self.field()
        self.alone = bool(named)
        if named:
            name = named
            if not self.rest() or self.text[self.at] == ")" or _BINARY.match(self.text, self.at) or self.field_next():
                self.tell(f"{name}: without a value was left out")
                return tree.Nothing()
            sign = self.eat(_NOT) or (self.eat(_SIGN) if name != "lines" else None)
            if sign:
                node = self.primary(name, depth) if self.rest() else tree.Nothing()
                return node if sign.group() == "+" else negated(node)
        self.eat(_PREFIX)
        if self.text[self.at] == "(":
            return self.group(name, depth)
        return self.value(name)

    def field(self) -> str:
        """Read a field's name with its colon, and return the name; "" if there is none here."""
        match = self.eat(FIELD)
        if match:
            return ALIASES.get(match[1].lower(), match[1].lower())
        match = self.eat(EQUALS)
        if match:
            self.tell(f"{match[1]}= was read as {match[1].lower()}:")
            return match[1].lower()
        near = near_field(self.text, self.at)
        if near:
            self.tell(f"{self.text[self.at : near[1]].strip()} was read as {near[0]}:")
            self.at = near[1]
            return near[0]
        return ""

    def field_next(self) -> bool:
        return bool(FIELD.match(self.text, self.at))

    def group(self, name: str, depth: int) -> Node:
        self.at += 1
        if depth >= MAX_PARENTHESES:
            self.eat(_OPENING)
            self.tell(f"parentheses nested over {MAX_PARENTHESES} deep were left out")
            return tree.Nothing()
        node = self.expression(name, depth + 1)
        if self.text[self.at : self.at + 1] == ")":
            self.at += 1
        elif self.clauses > 0:
            self.tell("an opening parenthesis was closed at the end")
        return node
