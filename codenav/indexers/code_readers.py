"""Readers for definitions in Go and Rust whose names are not in one field of their node, and for fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind
from codenav.indexers.code_rules import Found, spaced, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


# Go


def go_method(node: Node, data: bytes, item: bool) -> Found | None:
    """A function with a receiver, named after its type."""
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    if name is None or receiver is None:
        return None
    written = text_of(receiver, data).partition("[")[0]
    types: list[str] = re.findall(r"\w+", written)
    names = (*types[-1:], text_of(name, data))
    return Found(BlockKind.METHOD, names, node.child_by_field_name("body"), "function")


def go_type(node: Node, data: bytes, item: bool) -> Found | None:
    """A type; the braces of a struct or an interface are its body."""
    name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None:
        return None
    brace = None
    if kind is not None and kind.type in ("struct_type", "interface_type"):
        brace = next((child for child in kind.children if child.type in ("{", "field_declaration_list")), None)
    end = brace.start_byte if brace is not None else 0
    return Found(BlockKind.CLASS, (text_of(name, data),), None, "class", signature_end=end)


def go_value(node: Node, data: bytes, item: bool) -> Found | None:
    """A package-level constant or variable; one that holds a function literal is a function."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or not item:
        return None
    literal = value.named_child(0) if value is not None and value.named_child_count == 1 else None
    if literal is not None and literal.type == "func_literal":
        return Found(BlockKind.FUNCTION, (text_of(name, data),), literal.child_by_field_name("body"), "function")
    names = tuple(text_of(label, data) for label in node.children_by_field_name("name") if label.is_named)
    return Found(BlockKind.ASSIGNMENT, (", ".join(names),), value)


# Rust


def rust_impl(node: Node, data: bytes, item: bool) -> Found | None:
    """An `impl` block as a class named after its type; the trait is in its header."""
    kind, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if kind is None or body is None:
        return None
    name = kind
    while name.type in ("generic_type", "reference_type", "pointer_type"):
        name = name.child_by_field_name("type") or name.named_children[-1]
    return Found(BlockKind.CLASS, (spaced(text_of(name, data)).rpartition("::")[2],), body, "class")


def rust_macro(node: Node, data: bytes, item: bool) -> Found | None:
    """A macro, `macro_rules! job { … }`."""
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return Found(BlockKind.FUNCTION, (text_of(name, data),), signature_end=name.end_byte)


def rust_mod(node: Node, data: bytes, item: bool) -> Found | None:
    """A module: a scope if it has a body, else an import of a file."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return None
    if body is None:
        return Found(BlockKind.IMPORT, (text_of(name, data),)) if item else None
    return Found(BlockKind.CLASS, (text_of(name, data),), body, "namespace")


def first_name(node: Node, data: bytes, item: bool) -> Found | None:
    """A field named by its first declarator, in Java, C# and PHP."""
    pending = node.named_children[:6]
    for child in pending:
        if child.type in ("variable_declaration",):
            pending += child.named_children[:3]
            continue
        if child.type not in ("variable_declarator", "property_element"):
            continue
        name = child.child_by_field_name("name") or (child.named_child(0) if child.named_child_count else None)
        if name is not None:
            value = child.child_by_field_name("value") or child.child_by_field_name("default_value")
            return Found(BlockKind.ASSIGNMENT, (spaced(text_of(name, data)),), value)
    return None
