"""Readers for definitions whose names cannot be read from one field of their node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codenav.blocks import BlockKind
from codenav.indexers.code_rules import Found, spaced, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# JavaScript and TypeScript

_FUNCTIONS = {"arrow_function", "function_expression", "generator_function"}
_EXPORTS = re.compile(r"^(?:module\.exports|exports)(?:\.|$)")


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
    """A variable: `const f = () => …` is a function."""
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return js_value((spaced(text_of(name, data)),), node.child_by_field_name("value"), data, item)


def js_statement(node: Node, data: bytes, item: bool) -> Found | None:
    """An assignment to a property: `exports.f = function …`, `A.prototype.f = …`, `A.LIMIT = 3`."""
    inner = node.named_child(0) if node.named_child_count else None
    if inner is None or inner.type != "assignment_expression":
        return None
    left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
    if left is None or left.end_byte - left.start_byte > 200:
        return None
    path = "".join(text_of(left, data).split())
    path = _EXPORTS.sub("", path).replace(".prototype.", ".").removeprefix("this.") or "exports"
    found = js_value(tuple(path.split(".")), right, data, item)
    if found is not None and found.kind is BlockKind.IMPORT:
        return Found(BlockKind.ASSIGNMENT, found.names)
    return found


def js_field(node: Node, data: bytes, item: bool) -> Found | None:
    """A field of a class; one that holds a function is a method."""
    name = node.child_by_field_name("property") or node.child_by_field_name("name")
    if name is None:
        return None
    return js_value((text_of(name, data),), node.child_by_field_name("value"), data, item)


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


# C and C++

_DECLARATORS = {
    "pointer_declarator", "reference_declarator", "parenthesized_declarator", "init_declarator", "array_declarator",
    "attributed_declarator",
}  # fmt: skip


def declared(declarator: Node | None) -> tuple[Node | None, bool]:
    """The node of the name that a declarator declares, and True if that is a function."""
    function = pointer = False
    while declarator is not None:
        kind = declarator.type
        if kind == "function_declarator":
            # `int (*f)(void)` is a pointer, `int (*f(int))(void)` a function.
            function, pointer = True, False
        elif kind in ("pointer_declarator", "array_declarator"):
            pointer = function
        elif kind == "operator_cast":
            return declarator, True
        elif kind not in _DECLARATORS:
            break
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in declarator.named_children if not child.is_extra), None)
        declarator = inner
    return declarator, function and not pointer


def c_names(node: Node, data: bytes) -> tuple[str, ...]:
    """The parts of a qualified name: `A`, `operator+=` for `A<T>::operator+=`."""
    names: list[str] = []
    while node.type == "qualified_identifier":
        scope, inner = node.child_by_field_name("scope"), node.child_by_field_name("name")
        if scope is not None:
            names.append(spaced(text_of(scope, data)).partition("<")[0].strip())
        if inner is None:
            break
        node = inner
    if node.type in ("template_function", "template_method", "template_type"):
        node = node.child_by_field_name("name") or node
    last = spaced(text_of(node, data))
    if node.type == "operator_cast":
        last = last.partition("(")[0].strip()
    elif node.type == "operator_name":
        last = last.replace("operator ", "operator") if not last[-1].isalpha() else last
    return (*names, last)


def c_class(node: Node, data: bytes, item: bool) -> Found | None:
    """A class or struct with a body (`struct node { … }`, not `struct node *next`), without template arguments."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or name.is_missing or body is None:
        return None
    return Found(BlockKind.CLASS, c_names(name, data), body, "class")


def c_function(node: Node, data: bytes, item: bool) -> Found | None:
    """A function with its body, or one that is defaulted or deleted."""
    name, function = declared(node.child_by_field_name("declarator"))
    if name is None or not function:
        return None
    initializers = next((child for child in node.children if child.type == "field_initializer_list"), None)
    names = c_names(name, data)
    return Found(
        BlockKind.METHOD if len(names) > 1 else BlockKind.FUNCTION,
        names,
        node.child_by_field_name("body"),
        "function",
        signature_end=initializers.start_byte if initializers is not None else 0,
    )


def c_declaration(node: Node, data: bytes, item: bool) -> Found | None:
    """A prototype or a variable; None inside a function."""
    declarator = node.child_by_field_name("declarator")
    if not item or declarator is None:
        return None
    name, function = declared(declarator)
    if name is None:
        return None
    names = c_names(name, data)
    if function:
        return Found(BlockKind.FUNCTION, names)
    others = [declared(other)[0] for other in node.children_by_field_name("declarator")[1:20]]
    label = ", ".join([names[-1], *(spaced(text_of(other, data)) for other in others if other is not None)])
    return Found(BlockKind.ASSIGNMENT, (*names[:-1], label), declarator.child_by_field_name("value"))


def c_typedef(node: Node, data: bytes, item: bool) -> Found | None:
    """A type definition, `typedef struct { … } point`; a struct in it that has a name is a separate block."""
    name, _ = declared(node.child_by_field_name("declarator"))
    kind = node.child_by_field_name("type")
    if name is None:
        return None
    names = (spaced(text_of(name, data)),)
    body = kind.child_by_field_name("body") if kind is not None else None
    if kind is None or body is None:
        return Found(BlockKind.CLASS, names)
    tag = kind.child_by_field_name("name")
    if tag is not None and text_of(tag, data) != names[0]:
        return Found(BlockKind.CLASS, names, body, "alias")
    return Found(BlockKind.CLASS, names, body, "class", kind)


def c_macro(node: Node, data: bytes, item: bool) -> Found | None:
    """A macro, `#define NAME value`; not the include guard of a header."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or not item:
        return None
    if value is None and text_of(name, data).rstrip("_").endswith(("_H", "_HPP", "_HXX", "_HH", "_INCLUDED")):
        return Found(BlockKind.ASSIGNMENT, ())
    return Found(BlockKind.ASSIGNMENT, (text_of(name, data),), value)


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


# C#


def cs_property(node: Node, data: bytes, item: bool) -> Found | None:
    """A property: a method if it computes something, a field if it is `{ get; set; }`."""
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("accessors") or node.child_by_field_name("value")
    if name is None and node.type == "indexer_declaration":
        names: tuple[str, ...] = ("this",)
    elif name is None:
        return None
    else:
        names = (text_of(name, data),)
    written = text_of(body, data) if body is not None else ""
    if re.fullmatch(r"\{(?:[\w\s]*;)*\s*\}", written) or body is None:
        return Found(BlockKind.ASSIGNMENT, names)
    return Found(BlockKind.FUNCTION, names, body, "function")


def cs_operator(node: Node, data: bytes, item: bool) -> Found | None:
    """An operator, conversion or destructor: `operator ==`, `operator int`, `~Store`."""
    body = node.child_by_field_name("body")
    if node.type == "destructor_declaration":
        name = node.child_by_field_name("name")
        label = "~" + text_of(name, data) if name is not None else ""
    else:
        sign = node.child_by_field_name("operator") or node.child_by_field_name("type")
        label = f"operator {spaced(text_of(sign, data))}" if sign is not None else ""
    return Found(BlockKind.FUNCTION, (label,), body, "function") if label else None


# Ruby

_REQUIRES = {"require", "require_relative", "load", "autoload"}


def ruby_method(node: Node, data: bytes, item: bool) -> Found | None:
    """A method; a function outside of a class."""
    name, parameters = node.child_by_field_name("name"), node.child_by_field_name("parameters")
    if name is None or name.is_missing:
        return None
    end = (parameters or name).end_byte
    names = (text_of(name, data),)
    return Found(BlockKind.FUNCTION, names, node.child_by_field_name("body"), "function", signature_end=end)


def ruby_class(node: Node, data: bytes, item: bool) -> Found | None:
    """A class or a module."""
    name, parent = node.child_by_field_name("name"), node.child_by_field_name("superclass")
    if name is None or name.is_missing:
        return None
    names = tuple(part for part in text_of(name, data).split("::") if part)
    return Found(
        BlockKind.CLASS, names, node.child_by_field_name("body"), "class", signature_end=(parent or name).end_byte
    )


def ruby_singleton(node: Node, data: bytes, item: bool) -> Found | None:
    """`class << self`, whose methods belong to the enclosing class."""
    return Found(BlockKind.CLASS, (), None, "namespace")


def ruby_assignment(node: Node, data: bytes, item: bool) -> Found | None:
    """A constant or a top-level variable."""
    left = node.child_by_field_name("left")
    if left is None or not item:
        return None
    return Found(BlockKind.ASSIGNMENT, (spaced(text_of(left, data)),), node.child_by_field_name("right"))


def ruby_call(node: Node, data: bytes, item: bool) -> Found | None:
    """An import, `require "json"`."""
    method = node.child_by_field_name("method")
    if not item or method is None or text_of(method, data) not in _REQUIRES:
        return None
    return Found(BlockKind.IMPORT, ("require",))


# PHP


def php_statement(node: Node, data: bytes, item: bool) -> Found | None:
    """A top-level statement: `$x = …`, `define('X', …)`, `require 'x.php'`."""
    inner = node.named_child(0) if item and node.named_child_count else None
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
        constant = re.match(rb"define\(\s*['\"]([\w\\]+)['\"]", data[inner.start_byte : inner.start_byte + 200])
        if constant:
            return Found(BlockKind.ASSIGNMENT, (constant.group(1).decode(),))
    return None


def first_name(node: Node, data: bytes, item: bool) -> Found | None:
    """A constant or field named by its first declarator: `const LIMIT = 10` in PHP; fields in Java, C# and PHP."""
    pending = node.named_children[:6]
    for child in pending:
        if child.type in ("variable_declaration",):
            pending += child.named_children[:3]
            continue
        if child.type not in ("variable_declarator", "const_element", "property_element"):
            continue
        name = child.child_by_field_name("name") or (child.named_child(0) if child.named_child_count else None)
        if name is not None:
            value = child.child_by_field_name("value") or child.child_by_field_name("default_value")
            return Found(BlockKind.ASSIGNMENT, (spaced(text_of(name, data)),), value)
    return None
