"""What the table of a language is made of: which nodes of its syntax tree mean what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from codenav.blocks import BlockKind

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Found:
    """A definition, as a reader sees it in its node alone."""

    kind: BlockKind
    """A FUNCTION in a class becomes a METHOD."""
    names: tuple[str, ...]
    """Its name, after those of the types that the definition itself names (`Circle` in `func (c Circle) Area()`)."""
    body: Node | None = None
    """What the block of a class around it shows as `{ ... }`. The signature ends where it begins."""
    scope: str = ""
    """What it is to the definitions in it: `class`, `function`, `namespace` (which is no block), or nothing."""
    claims: Node | None = None
    """A node below that is part of this definition and none of its own."""
    signature_end: int = 0
    """Byte where the signature ends, if not before the body."""


Reader = Callable[["Node", bytes, bool], Found | None]
"""Takes a node, the source, and whether the node is an item: a direct part of a file, a namespace or a class."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A language. Names of nodes are those of its grammar (`node-types.json` of each grammar's repository)."""

    name: str
    """As in `CodeBlock.language`."""
    package: str
    """The module of its grammar."""
    entry: str = "language"
    """The function of that module."""
    extra: str = ""
    """The extra of this distribution that installs it; empty for the core."""
    definitions: Mapping[str, Reader] = field(default_factory=dict)
    wrappers: frozenset[str] = frozenset()
    """Hold a definition and are part of it: `export`, `template <…>`, `const` around its names."""
    containers: frozenset[str] = frozenset()
    """Their parts are as good as parts of what is around: bodies, `#ifdef`."""
    imports: frozenset[str] = frozenset()
    conditionals: frozenset[str] = frozenset()
    calls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The fields where the name of what is called begins and ends."""
    comments: frozenset[str] = frozenset({"comment"})
    attributes: frozenset[str] = frozenset()
    """Belong to the text of a definition and not to its signature: decorators, annotations."""
    modifiers: frozenset[str] = frozenset()
    """Nodes within which attributes stand."""
    ignored: frozenset[str] = frozenset()
    """Parts of a file that are in no block."""
    package_nodes: frozenset[str] = frozenset()
    """Name the package of the file."""
    import_line: Callable[[str, str, BlockKind], str] | None = None
    """From package, outermost name and kind of a definition."""
    exported: Callable[[str], bool] = lambda signature: True
    """Whether others can import a definition of this signature."""


def text_of(node: Node, data: bytes) -> str:
    """The source of a node."""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def spaced(text: str, limit: int = 200) -> str:
    """On one line, at most `limit` characters."""
    joined = " ".join(text[: limit * 4].split())
    return joined if len(joined) <= limit else joined[: limit - 2] + " …"


def named(kind: BlockKind, scope: str = "", *, body: str = "body", name: str = "name") -> Reader:
    """The usual definition: its name in one field, its body in another."""

    def read(node: Node, data: bytes, item: bool) -> Found | None:
        label = node.child_by_field_name(name)
        if label is None or label.is_missing:
            return None
        return Found(kind, (spaced(text_of(label, data)),), node.child_by_field_name(body), scope)

    return read


FUNCTION = named(BlockKind.FUNCTION, "function")
CLASS = named(BlockKind.CLASS, "class")
TYPE = named(BlockKind.CLASS)
ASSIGNMENT = named(BlockKind.ASSIGNMENT, body="value")


def namespace(node: Node, data: bytes, item: bool) -> Found | None:
    """A scope with a name that is no block: its parts are."""
    label = node.child_by_field_name("name")
    names = tuple(part for part in text_of(label, data).strip("\"'").split("::") if part) if label is not None else ()
    return Found(BlockKind.CLASS, names, node.child_by_field_name("body"), "namespace")
