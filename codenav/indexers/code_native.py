"""Readers for definitions of C, C++, C#, Go and Rust whose names are not in one field of their node, and for fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind
from codenav.indexers.code_rules import Found, spaced, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

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
            called = declarator.child_by_field_name("declarator")
            if called is not None and called.type == kind:
                # No function returns a function: `result (max)(void)`, with the type read as the name.
                return _only(called.child_by_field_name("parameters")), True
        elif kind in ("pointer_declarator", "array_declarator"):
            pointer = function
        elif kind == "operator_cast" or (
            kind == "qualified_identifier" and _innermost(declarator).type == "operator_cast"
        ):
            return declarator, True
        elif kind not in _DECLARATORS:
            break
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            parts = (child for child in declarator.named_children if not child.is_extra)
            inner = next((child for child in parts if child.type != "ms_call_modifier"), None)
        declarator = inner
    return declarator, function and not pointer


def _declarators(node: Node) -> list[Node]:
    """The declarators of a declaration, without `__stdcall` before them."""
    return [child for child in node.children_by_field_name("declarator") if child.type != "ms_call_modifier"]


def _innermost(node: Node) -> Node:
    """The last name of a qualified one."""
    while node.type == "qualified_identifier":
        inner = node.child_by_field_name("name")
        if inner is None:
            break
        node = inner
    return node


def _only(parameters: Node | None) -> Node | None:
    """The word in the brackets of `(max)`."""
    while parameters is not None and parameters.named_child_count == 1:
        parameters = parameters.named_child(0)
    return parameters if parameters is not None and parameters.type.endswith("identifier") else None


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
        last = re.sub(r"^operator (?=\W)", "operator", last)
    return (*names, last)


def c_class(node: Node, data: bytes, item: bool) -> Found | None:
    """A class or struct with a body (`struct node { … }`, not `struct node *next`), without template arguments."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or name.is_missing or body is None:
        return None
    return Found(BlockKind.CLASS, c_names(name, data), body, "class")


def c_function(node: Node, data: bytes, item: bool) -> Found | None:
    """A function with its body, or one that is defaulted or deleted."""
    name, function = declared(next(iter(_declarators(node)), None))
    if name is None:
        return None
    body = node.child_by_field_name("body")
    if body is not None and _is_macro(node, name, data):
        names = called_with(data[name.end_byte : body.start_byte]) if item else ()
        return Found(BlockKind.FUNCTION, names, body, "function") if names else None
    if (
        not function
        or text_of(name, data) in _KEYWORDS
        or (not item and _MACRO.fullmatch(data, name.start_byte, name.end_byte))
    ):
        return None
    initializers = next((child for child in node.children if child.type == "field_initializer_list"), None)
    names = c_names(name, data)
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type == "qualified_identifier" and text_of(_innermost(kind), data) == "operator":
        # `Path::operator bool() const` is read as a function `bool` of that type.
        names = (*c_names(kind, data)[:-1], f"operator {names[-1]}")
    return Found(
        BlockKind.METHOD if len(names) > 1 else BlockKind.FUNCTION,
        names,
        node.child_by_field_name("body"),
        "function",
        signature_end=initializers.start_byte if initializers is not None else 0,
    )


_KEYWORDS = {"case", "catch", "defined", "do", "else", "for", "if", "return", "sizeof", "switch", "while"}
_STRING = re.compile(r'"((?:[^"\\]|\\.)+)"')
_WORD = re.compile(r"[^\W\d]\w*")
_MACRO = re.compile(rb"[A-Z][A-Z0-9_]{2,}")


def _is_macro(node: Node, name: Node, data: bytes) -> bool:
    """True for `TEST(parse, empty) { … }`: no type before it, and no constructor either."""
    kind = node.child_by_field_name("type")
    if data[name.start_byte - 1 : name.start_byte].isalnum() or data[name.start_byte - 1 : name.start_byte] == b"_":
        return True
    if kind is not None:
        # In C `TEST(name) {` has a type and a name in brackets.
        return (
            name.parent is not None
            and name.parent.type == "parenthesized_declarator"
            and node.named_children[1] == name.parent
        )
    if name.type != "identifier" or node.start_byte != name.start_byte:
        return False
    return _MACRO.fullmatch(data, name.start_byte, name.end_byte) is not None


def _is_call(node: Node, name: Node, data: bytes) -> bool:
    """True for the call of a macro that reads like a declaration: `DECLARE_LIST(item);`, `int UNIQUE(name) = 1;`."""
    around, value = node.parent, node.child_by_field_name("declarator")
    macro = _MACRO.fullmatch(data, name.start_byte, name.end_byte) is not None
    if node.child_by_field_name("type") is not None:
        return macro and value is not None and value.type == "init_declarator"
    if name.type not in ("identifier", "field_identifier") or around is None:
        return False
    if macro or around.type not in ("field_declaration_list", "ERROR"):
        return True
    # A constructor has no type either.
    owner = around.parent.child_by_field_name("name") if around.parent is not None else None
    return owner is not None and around.type != "ERROR" and c_names(owner, data)[-1] != text_of(name, data)


def called_with(arguments: bytes) -> tuple[str, ...]:
    """The name that the call of a macro gives to the body after it.

    It is `parse.empty` for `TEST(parse, empty)`, `an empty list` for `TEST_CASE("an empty list", "[parse]")`,
    and `stat` for `EXPORT(static int stat(int file))`; empty if there is none.
    """
    written = spaced(arguments.decode("utf-8", "replace")).strip()[1:-1].strip()
    string = _STRING.search(written)
    before = _WORD.findall(written[: string.start()] if string else written.split("(")[0])
    if string:
        return (*before[:1], string[1])
    parts = [part.strip() for part in written.split(",")]
    if not _WORD.fullmatch(parts[0]):
        return tuple(before[-1:]) if "(" in written else ()
    return tuple(parts) if len(parts) == 2 and _WORD.fullmatch(parts[1]) else (parts[0],)


def c_declaration(node: Node, data: bytes, item: bool) -> Found | None:
    """A prototype or a variable; None inside a function."""
    declarators = _declarators(node) if item else []
    if not declarators:
        return None
    declarator = declarators[0]
    name, function = declared(declarator)
    if name is None:
        return None
    names = c_names(name, data)
    if function and (names[-1] in _KEYWORDS or _is_call(node, name, data)):
        return None
    if function:
        return Found(BlockKind.FUNCTION, names)
    others = [declared(other)[0] for other in declarators[1:20]]
    label = ", ".join([names[-1], *(spaced(text_of(other, data)) for other in others if other is not None)])
    return Found(BlockKind.ASSIGNMENT, (*names[:-1], label), declarator.child_by_field_name("value"))


def c_typedef(node: Node, data: bytes, item: bool) -> Found | None:
    """A type definition, `typedef struct { … } point`; a struct in it that has a name is a separate block."""
    declarators = _declarators(node)
    name = declared(declarators[0])[0] if declarators else None
    kind = node.child_by_field_name("type")
    if name is None:
        return None
    names = (spaced(text_of(name, data)),)
    others = tuple(
        (spaced(text_of(label, data)), other) for other in declarators[1:] if (label := declared(other)[0]) is not None
    )
    body = kind.child_by_field_name("body") if kind is not None else None
    if kind is None or body is None:
        return Found(BlockKind.CLASS, names, others=others)
    tag = kind.child_by_field_name("name")
    if tag is not None and text_of(tag, data) != names[0]:
        return Found(BlockKind.CLASS, names, body, "alias", others=others)
    return Found(BlockKind.CLASS, names, body, "class", kind, others=others)


def c_macro(node: Node, data: bytes, item: bool) -> Found | None:
    """A macro, `#define NAME value`; not the include guard of a header."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or not item:
        return None
    if value is None and text_of(name, data).rstrip("_").endswith(("_H", "_HPP", "_HXX", "_HH", "_INCLUDED")):
        return Found(BlockKind.ASSIGNMENT, ())
    return Found(BlockKind.ASSIGNMENT, (text_of(name, data),), value)


# C#


def cs_property(node: Node, data: bytes, item: bool) -> Found | None:
    """A property, an indexer or an event with accessors; `{ get; set; }` is part of its signature."""
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("accessors") or node.child_by_field_name("value")
    if name is None and node.type != "indexer_declaration":
        return None
    names = (text_of(name, data) if name is not None else "this",)
    written = text_of(body, data) if body is not None else ""
    if re.fullmatch(r"\{(?:[\w\s]*;)*\s*\}", written):
        body = None
    return Found(BlockKind.FUNCTION, names, body, "function")


def cs_local(node: Node, data: bytes, item: bool) -> Found | None:
    """A function in a function; not `else if (…) { … }` or `case A.B: f();` after an `#if`."""
    name = node.child_by_field_name("name")
    words = {*text_of(node, data)[:20].split()[:1], text_of(name, data) if name is not None else ""}
    if name is None or name.is_missing or not words.isdisjoint(_KEYWORDS):
        return None
    return Found(BlockKind.FUNCTION, (text_of(name, data),), node.child_by_field_name("body"), "function")


def cs_event(node: Node, data: bytes, item: bool) -> Found | None:
    """An event without accessors, `event Action Saved, Closed;`."""
    declared = next((child for child in node.named_children if child.type == "variable_declaration"), None)
    labels = [child.child_by_field_name("name") for child in declared.named_children] if declared is not None else []
    names = [text_of(label, data) for label in labels if label is not None and not label.is_missing]
    return Found(BlockKind.FUNCTION, (names[0],), also=tuple(names[1:])) if names else None


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
