"""Parsing of Python with tree-sitter, with a time limit."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from codenav.indexers.parsing import PARSE_SECONDS, parse_within
from codenav.indexers.python_draft import NAME_LENGTH

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser


def parse(data: bytes, seconds: float = PARSE_SECONDS) -> Node:
    """The root of the syntax tree of UTF-8 source.

    Raises:
        OutOfTime: the parser was stopped.
    """
    return parse_within(_parser(), data, seconds)


def called_names(root: Node, data: bytes) -> tuple[list[int], list[str]]:
    """The offsets and dotted names of the calls: two lists, in order of the source.

    A call on an expression gives its last name with a dot before it: `.fit` for `models[0].fit()`.

    The walk uses a cursor and is linear; tree-sitter's queries are quadratic in the number of brackets that stay
    open, and `Node.children` keeps every node of the tree alive.
    """
    kinds = ("call", "attribute", "type_alias_statement")
    call, attribute, alias = (_language().id_for_node_kind(kind, True) for kind in kinds)
    spans = []
    cursor = root.walk()
    going = True
    while going:
        node = cursor.node
        called = node.child(0) if node is not None and node.kind_id == call else None
        if called is not None and called.kind_id == attribute:
            attribute_name = called.child_by_field_name("attribute")
            last = -1 if attribute_name is None else attribute_name.start_byte
            spans.append((called.start_byte, called.end_byte, last))
        elif called is not None:
            spans.append((called.start_byte, called.end_byte, -1))
        elif node is not None and node.kind_id == alias and is_no_alias(node, data):
            spans.append((node.start_byte, node.start_byte + len("type"), -1))
        if not cursor.goto_first_child():
            while not cursor.goto_next_sibling():
                going = cursor.goto_parent()
                if not going:
                    break
    named = []
    for start, end, last in spans:
        # In a chain of calls as long as a file, reading the text of every link would be quadratic.
        name = data[start:end].decode("utf-8", "replace") if end - start <= NAME_LENGTH else ""
        if name[:1] == "*":
            # In a list or set, the grammar takes `*a.b()` for a call of `*a.b`.
            name = name.lstrip("* \n")
            start = end - len(name.encode())
        if not name.isidentifier():
            name = "".join(name.split())
            if not all(part.isidentifier() for part in name.split(".")):
                if last < 0:
                    continue
                start, name = last - 1, "." + data[last:end].decode("utf-8", "replace")
        named.append((start, name))
    named.sort()
    return [start for start, _ in named], [name for _, name in named]


def is_no_alias(statement: Node, data: bytes) -> bool:
    """True if the grammar takes `type(a).b = c` for a type alias, in which `type` is a keyword."""
    target = statement.child_by_field_name("left")
    return target is not None and data[target.start_byte : target.start_byte + 1] == b"("


@cache
def _parser() -> Parser:
    from tree_sitter import Parser

    return Parser(_language())


@cache
def _language() -> Language:
    import tree_sitter_python
    from tree_sitter import Language

    return Language(tree_sitter_python.language())
