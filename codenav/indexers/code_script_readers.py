"""Readers for definitions in JavaScript, TypeScript, Ruby and PHP whose names are not in one field of their node."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind
from codenav.indexers.code_rules import Found, spaced, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# JavaScript and TypeScript

_FUNCTIONS = {"arrow_function", "function_expression", "generator_function"}
_EXPORTS = re.compile(r"^(?:module\.exports|exports)(?:\.|$)")
_KEY = re.compile(r"""\[(["'])([\w$]+)\1\]""")


def js_value(names: tuple[str, ...], value: Node | None, data: bytes, item: bool) -> Found | None:
    """The definition made by binding a name to a value: a function, class, import, object with methods, or constant."""
    kind = value.type if value is not None else ""
    if value is not None and kind in _FUNCTIONS:
        return Found(BlockKind.FUNCTION, names, value.child_by_field_name("body"), "function", value)
    if value is not None and kind == "class":
        return Found(BlockKind.CLASS, names, value.child_by_field_name("body"), "class", value)
    if not item:
        return None
    if value is not None and kind == "call_expression":
        called = value.child_by_field_name("function")
        if called is not None and text_of(called, data) == "require":
            return Found(BlockKind.IMPORT, names)
    return Found(BlockKind.ASSIGNMENT, names, value, "class" if kind == "object" else "")


def js_variable(node: Node, data: bytes, item: bool) -> Found | None:
    """A variable or a field of a class: `const f = () => …` is a function."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is None:
        return None
    return js_value((spaced(text_of(name, data)),), node.child_by_field_name("value"), data, item)


def js_statement(node: Node, data: bytes, item: bool) -> Found | None:
    """An assignment to a property: `exports.f = function …`, `A.prototype.f = …`, `A.LIMIT = 3`; a mixin."""
    value = node.named_child(0) if node.named_child_count else None
    if value is not None and value.type == "call_expression":
        return _js_mixin(value, data)
    paths: list[tuple[str, ...]] = []
    while value is not None and value.type == "assignment_expression" and len(paths) < 20:
        left, value = value.child_by_field_name("left"), value.child_by_field_name("right")
        if left is not None and left.end_byte - left.start_byte <= 200:
            paths.append(_js_path(left, data))
    if not paths:
        return None
    names = next((path for path in paths if path[-1] == "prototype"), paths[0])
    also = tuple(path[-1] for path in paths if path[:-1] == names[:-1] and path != names and path[-1])
    if names[-1] == "prototype" and value is not None and value.type == "object":
        return Found(BlockKind.ASSIGNMENT, names, value, "members", also=also, own=True)
    own = value.child_by_field_name("name") if value is not None and value.type in _FUNCTIONS | {"class"} else None
    if names == ("exports",) and own is not None:
        names = (text_of(own, data),)
    of = tuple(name for name in names[:-1] if name != "prototype")
    found = js_value((*of, names[-1]), value, data, item)
    if found is None:
        return None
    kind = found.kind
    if kind is BlockKind.IMPORT:
        return Found(BlockKind.ASSIGNMENT, found.names)
    if kind is BlockKind.FUNCTION and "prototype" in names[:-1]:
        kind = BlockKind.METHOD
    return replace(found, kind=kind, also=also)


def _js_path(left: Node, data: bytes) -> tuple[str, ...]:
    """The names of `module.exports.T.prototype["f"]`: `T`, `prototype`, `f`."""
    path = _KEY.sub(r".\2", "".join(text_of(left, data).split()))
    return tuple((_EXPORTS.sub("", path).removeprefix("this.") or "exports").split("."))


def _js_mixin(call: Node, data: bytes) -> Found | None:
    """The members that a call such as `Object.assign(T.prototype, {…})` adds to a type."""
    if b".prototype" not in data[call.start_byte : call.start_byte + 200]:
        return None
    arguments = call.child_by_field_name("arguments")
    if arguments is None or not 2 <= arguments.named_child_count <= 4:
        return None
    target, members = arguments.named_children[0], arguments.named_children[-1]
    if target.type != "member_expression" or members.type != "object" or target.end_byte - target.start_byte > 200:
        return None
    names, key = _js_path(target, data), arguments.named_children[1]
    if names[-1] != "prototype":
        return None
    if key.type == "string":
        # What the object holds describes the property.
        return Found(BlockKind.METHOD, (*names[:-1], text_of(key, data).strip("\"'")), members, "function", own=True)
    return Found(BlockKind.ASSIGNMENT, names, members, "members", own=True)


def js_namespace(node: Node, data: bytes, item: bool) -> Found | None:
    """A namespace or an ambient module: `namespace A.B { … }`, `declare module "fs" { … }`."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or name.is_missing or body is None:
        return None
    written = spaced(text_of(name, data))
    names = (written.strip("\"'"),) if name.type == "string" else tuple("".join(written.split()).split("."))
    return Found(BlockKind.CLASS, names, body, "module")


def js_pair(node: Node, data: bytes, item: bool) -> Found | None:
    """A method in an object, `post: function () { … }`; not a short `x => x + 1`."""
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None or value.type not in _FUNCTIONS:
        return None
    body = value.child_by_field_name("body")
    if body is None or body.type != "statement_block":
        return None
    return Found(BlockKind.FUNCTION, (spaced(text_of(key, data)).strip("\"'"),), body, "function", value)


def js_default(node: Node, data: bytes, item: bool) -> Found | None:
    """An unnamed function or class behind `export default`."""
    value = node.child_by_field_name("value")
    if value is None or value.type not in _FUNCTIONS | {"class"} or value.child_by_field_name("name") is not None:
        return None
    return js_value(("default",), value, data, item)


# Ruby

_REQUIRES = {"require", "require_relative", "load", "autoload"}
_RUBY_DEFINES = re.compile(r"(?P<attr>attr|\w*attr_(?:reader|writer|accessor))|define_method|alias_method")
"""Also `cattr_accessor` and `mattr_reader` of Rails."""
_RUBY_LABELS = {"simple_symbol", "delimited_symbol", "string"}
_RUBY_LABEL = re.compile(r""":?(?P<quote>["']?)(?P<name>[^\s"'#:]{1,100})(?P=quote)""")


def ruby_singleton(node: Node, data: bytes, item: bool) -> Found | None:
    """`class << self`, whose methods belong to the enclosing class."""
    return Found(BlockKind.CLASS, (), None, "namespace")


def ruby_call(node: Node, data: bytes, item: bool) -> Found | None:
    """An import, `require "json"`, or the definition of methods: `attr_reader :a, :b`, `define_method(:a) { … }`."""
    method = node.child_by_field_name("method")
    if method is None or method.end_byte - method.start_byte > 40:
        return None
    called = text_of(method, data)
    if called in _REQUIRES:
        return Found(BlockKind.IMPORT, ("require",)) if item else None
    defines = _RUBY_DEFINES.fullmatch(called)
    arguments = node.child_by_field_name("arguments")
    if defines is None or arguments is None or node.child_by_field_name("receiver") is not None:
        return None
    names = [label for child in arguments.named_children[:200] if (label := _ruby_label(child, data))]
    if not names:
        return None
    body = node.child_by_field_name("block")
    if defines["attr"]:
        first, *others = (f"{name}=" for name in names) if called.endswith("writer") else names
        return Found(BlockKind.FUNCTION, (first,), also=tuple(dict.fromkeys(others)), own=True)
    return Found(BlockKind.FUNCTION, (names[0],), body, "function" if body is not None else "", own=True)


def ruby_alias(node: Node, data: bytes, item: bool) -> Found | None:
    """Another name of a method: `alias size length`; not that of a global variable."""
    name = node.child_by_field_name("name")
    if name is None or name.type == "global_variable":
        return None
    return Found(BlockKind.FUNCTION, (_ruby_label(name, data) or spaced(text_of(name, data)),), own=True)


def _ruby_label(node: Node, data: bytes) -> str:
    """The name that a symbol or a plain string stands for; empty for anything else."""
    found = _RUBY_LABEL.fullmatch(text_of(node, data)[:200]) if node.type in _RUBY_LABELS else None
    return found["name"] if found is not None else ""


# PHP


def php_statement(node: Node, data: bytes, item: bool) -> Found | None:
    """A top-level statement: `$x = …`, `define('X', …)`, `require 'x.php'`."""
    if not item:
        return _php_define(node.start_byte, data)
    inner = node.named_child(0) if node.named_child_count else None
    if inner is None:
        return None
    if inner.type == "assignment_expression":
        left = inner.child_by_field_name("left")
        if left is None:
            return None
        return Found(BlockKind.ASSIGNMENT, (spaced(text_of(left, data)),), inner.child_by_field_name("right"))
    if inner.type in ("require_once_expression", "require_expression", "include_expression", "include_once_expression"):
        return Found(BlockKind.IMPORT, ("require",))
    if inner.type == "function_call_expression":
        return _php_define(inner.start_byte, data)
    return None


def _php_define(start: int, data: bytes) -> Found | None:
    """A constant, `define('LIMIT', 10)`, also in an `if` that asks for it first."""
    constant = re.match(rb"\\?define\s*\(\s*(['\"])([\w\\]+)\1", data[start : start + 200], re.IGNORECASE)
    if constant is None:
        return None
    return Found(BlockKind.ASSIGNMENT, (constant[2].decode("utf-8", "replace"),), own=True)


def php_constants(node: Node, data: bytes, item: bool) -> Found | None:
    """The constants of a statement: `const A = 1, B = 2`."""
    elements = [child for child in node.named_children[:200] if child.type == "const_element"]
    names = [spaced(text_of(element.named_children[0], data)) for element in elements if element.named_child_count]
    if not names:
        return None
    value = elements[0].named_children[-1] if len(elements) == 1 else None
    return Found(BlockKind.ASSIGNMENT, (names[0],), value, also=tuple(names[1:]), own=True)
