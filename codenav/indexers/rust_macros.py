"""Items of Rust inside macros: those that `cfg_if! { … }` and its like wrap, and those that a `macro_rules!` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind
from codenav.indexers.code_languages import RUST
from codenav.indexers.code_rules import text_of
from codenav.indexers.code_text import Marks
from codenav.indexers.code_tree import grammar, parse
from codenav.indexers.code_walk import Walk
from codenav.indexers.draft import Draft, Elision

if TYPE_CHECKING:
    from tree_sitter import Node

_DEPTH = 4
"""Macros in macros, and braces in a macro, that are looked into."""
_ITEMS = {"const", "enum", "fn", "impl", "macro_rules!", "mod", "static", "struct", "trait", "type", "union"}
"""Words that begin an item."""
_AROUND = {"source_file", "declaration_list", "expression_statement", "foreign_mod_item"}
_SCOPES = {"impl_item", "mod_item", "trait_item"}
_KEPT = {BlockKind.CLASS, BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.ASSIGNMENT}
_FRAGMENTS = {"vis": b"pub", "item": b"", "block": b"{}"}
"""The text for a variable of a macro with which the parser reads on, by its fragment; a name for all others."""
_DIALECT = re.compile(rb"(?<=\bstatic )\s*ref\b|(?<=\w)\s*:\s*\w+\s*(?=\{)")
"""The additions of known macros to items: `static ref X` of `lazy_static!`, `struct X: u32 { … }` of `bitflags!`."""


@dataclass(slots=True)
class _Body:
    """The inside of a macro."""

    start: int
    end: int
    names: tuple[str, ...]
    """The module and the type around the macro."""
    in_type: bool


@dataclass(slots=True)
class _Macros:
    """The bodies in one syntax tree, and the source of them alone, with spaces for the rest."""

    data: bytes
    alone: bytearray
    bodies: list[_Body] = field(default_factory=list)

    def read(self, root: Node) -> None:
        """Collect the bodies of all macros that stand where items do."""
        stack: list[tuple[Node, tuple[str, ...], bool]] = [(root, (), False)]
        while stack:
            node, names, in_type = stack.pop()
            if node.type == "macro_definition":
                self._written(node, names, in_type)
            elif node.type == "macro_invocation":
                tree = node.named_children[-1]
                if tree.type == "token_tree":
                    self._inside(tree, names, in_type)
            elif node.type in _AROUND:
                stack += [(child, names, in_type) for child in node.named_children]
            elif node.type in _SCOPES and (body := node.child_by_field_name("body")) is not None:
                found = RUST.definitions[node.type](node, self.data, True)
                stack.append((body, names + (found.names if found else ()), node.type != "mod_item"))

    def _written(self, macro: Node, names: tuple[str, ...], in_type: bool) -> None:
        """Add what the rules of a `macro_rules!` write."""
        for rule in macro.named_children:
            left, right = rule.child_by_field_name("left"), rule.child_by_field_name("right")
            if left is not None and right is not None:
                fragments = {
                    text_of(pair.named_children[0], self.data): text_of(pair.named_children[-1], self.data)
                    for pair in _below(left)
                    if pair.type == "token_binding_pattern"
                }
                self._inside(right, names, in_type, fragments)

    def _inside(
        self, tree: Node, names: tuple[str, ...], in_type: bool, fragments: Mapping[str, str] = {}, depth: int = _DEPTH
    ) -> None:
        """Add the inside of brackets if items begin in it; else that of the braces in them: `if #[cfg(x)] { … }`."""
        if not any(child.type in _ITEMS or text_of(child, self.data) in _ITEMS for child in _tokens(tree)):
            for child in _tokens(tree) if depth else ():
                if child.type == "token_tree" and self.data[child.start_byte] == ord("{"):
                    self._inside(child, names, in_type, fragments, depth - 1)
            return
        start, end = tree.start_byte + 1, tree.end_byte - 1
        self.alone[start:end] = _DIALECT.sub(lambda found: b" " * len(found[0]), self.data[start:end])
        for node in _below(tree):
            if node.type == "metavariable":
                self._stand_in(node, fragments.get(text_of(node, self.data), ""))
            elif node.type == "token_repetition":
                self._blank(node.start_byte, node.start_byte + 2)
                last = max(child.end_byte for child in node.children if child.type == ")")
                self._blank(last - 1, node.end_byte)
        self.bodies.append(_Body(start, end, names, in_type))

    def _stand_in(self, variable: Node, fragment: str) -> None:
        start, end = variable.start_byte, variable.end_byte
        sign = b"'" if fragment == "lifetime" else b"_"
        shown = _FRAGMENTS.get(fragment, sign + self.data[start + 1 : end])
        self.alone[start:end] = shown.ljust(end - start) if len(shown) <= end - start else b" " * (end - start)

    def _blank(self, start: int, end: int) -> None:
        self.alone[start:end] = re.sub(rb"[^\n]", b" ", self.data[start:end])


@dataclass(slots=True)
class Inside:
    """The items and calls inside the macros of a file."""

    drafts: list[Draft] = field(default_factory=list)
    called: list[tuple[int, int]] = field(default_factory=list)
    """Byte ranges of the names that are called there."""
    damaged: set[int] = field(default_factory=set)
    """The rows of macros in which the parser may have lost items, as they have a language of their own."""


def items_in_macros(root: Node, data: bytes, *, path: str, seconds: float) -> Inside:
    """The items inside the macros of a file.

    Raises:
        OutOfTime: as `parse`.
    """
    inside = Inside()
    for _ in range(_DEPTH):
        macros = _Macros(data, bytearray(re.sub(rb"[^\n]", b" ", data)))
        macros.read(root)
        if not macros.bodies:
            break
        bodies = sorted(macros.bodies, key=lambda body: body.start)
        root = parse(bytes(macros.alone), "rust", seconds)
        walk = Walk(data, root, RUST, grammar("rust"), Marks(data), path=path)
        inside.drafts += _placed(walk.drafts(), bodies)
        inside.called += walk.called
        for body in bodies if root.has_error else ():
            first = data.count(b"\n", 0, body.start)
            inside.damaged.update(range(first, first + data.count(b"\n", body.start, body.end) + 1))
    return inside


def elide(runs: list[Draft], items: list[Draft]) -> None:
    """Leave the bodies of items out of the runs of statements that hold their macros."""
    for run in runs:
        if run.name == "statements":
            run.elided += [
                Elision(item.start, item.end, f"{item.signature} {{ ... }}")
                for item in items
                if run.start <= item.start and item.end <= run.end and item.kind is not BlockKind.ASSIGNMENT
            ]


def _placed(drafts: list[Draft], bodies: list[_Body]) -> Iterator[Draft]:
    """The items among the drafts, named by what is around their macro."""
    number = 0
    for draft in drafts:
        while number < len(bodies) and bodies[number].end < draft.end:
            number += 1
        if draft.kind not in _KEPT or draft.name == "statements" or number == len(bodies):
            continue
        body = bodies[number]
        if body.in_type and draft.kind is BlockKind.FUNCTION and "." not in draft.qualname:
            draft.kind = BlockKind.METHOD
        draft.qualname = ".".join((*body.names, draft.qualname))
        yield draft


def _tokens(tree: Node) -> Iterator[Node]:
    """The tokens in brackets, those in repetitions included."""
    stack = tree.children[::-1]
    while stack:
        child = stack.pop()
        if child.type == "token_repetition":
            stack += child.children[::-1]
        else:
            yield child


def _below(node: Node) -> Iterator[Node]:
    stack = list(node.children)
    while stack:
        child = stack.pop()
        yield child
        stack += child.children
