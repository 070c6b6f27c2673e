"""The parts of a language table, which gives a meaning to the nodes of a syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind
from codenav.indexers.python_text import cut

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Found:
    """A definition as read from its node alone."""

    kind: BlockKind
    """A FUNCTION in a class becomes a METHOD."""
    names: tuple[str, ...]
    """Its name, after those of the owner types that it mentions itself (`Circle` in `func (c Circle) Area()`)."""
    body: Node | None = None
    """The node that the block of an enclosing class shows as `{ ... }`. The signature ends where it begins."""
    scope: str = ""
    """Its kind as a scope: `class`, `function`, `namespace` (not a block), `module` (a namespace that is a block),
    `alias` (adds no name), `members` (`T.prototype`, whose parts are those of `T`), or "" for none."""
    claims: Node | None = None
    """A node below that is part of this definition and not a separate one."""
    signature_end: int = 0
    """Byte where the signature ends; 0 if it ends before the body."""
    also: tuple[str, ...] = ()
    """Other last names that the same source defines: `attr_reader :a, :b`."""
    own: bool = False
    """True for one that is a block of its own wherever it stands, except in a function: a constant, an accessor."""
    others: tuple[tuple[str, Node], ...] = ()
    """Further names for the same, `*Item` in `typedef struct item {} item, *Item;`, and their nodes."""


Reader = Callable[["Node", bytes, bool], Found | None]
"""A function of a node, the source, and True if the node is an item: a direct part of a file, namespace or class."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The table of a language. The names of nodes are those in its grammar (`node-types.json` in its repository)."""

    name: str
    """As in `CodeBlock.language`."""
    package: str
    """The module of its grammar."""
    entry: str = "language"
    """The function of that module."""
    extra: str = ""
    """The extra of this distribution that installs the grammar; empty if it comes without one."""
    extensions: str = ""
    """The file name extensions in lower case, separated by spaces."""
    definitions: Mapping[str, Reader] = field(default_factory=dict)
    wrappers: frozenset[str] = frozenset()
    """Nodes that contain a definition and are part of it: `export`, `template <…>`, `const` around its names."""
    containers: frozenset[str] = frozenset()
    """Nodes whose parts count as parts of the node around: bodies, `#ifdef`."""
    imports: frozenset[str] = frozenset()
    conditionals: frozenset[str] = frozenset()
    calls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The fields where the name of the called function begins and ends, by kind of node."""
    comments: frozenset[str] = frozenset({"comment"})
    attributes: frozenset[str] = frozenset()
    """Nodes that belong to a definition's text but not to its signature: decorators, annotations."""
    modifiers: frozenset[str] = frozenset()
    """Nodes that contain attributes."""
    ignored: frozenset[str] = frozenset()
    """Nodes that are left out of all blocks."""
    package_nodes: frozenset[str] = frozenset()
    """Nodes that name the package of the file."""
    import_line: str = ""
    """The statement to import a definition, with `{package}`, `{name}`, and `{function}` where one has that word."""
    offers: bool = False
    """True if its packages offer names that other files define: `export … from`, `pub use`."""
    only_public: bool = False
    """True if other files can import only what is `public`."""


def text_of(node: Node, data: bytes) -> str:
    """The source of a node."""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def last_row(node: Node) -> int:
    """The last row of a node; one that ends with a line break does not extend to the next row."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def spaced(text: str, limit: int = 200) -> str:
    """The text on one line, cut to `limit` characters."""
    return cut(" ".join(text[: limit * 4].split()), limit)


def definition_reader(
    kind: BlockKind,
    scope: str = "",
    *,
    body: str = "body",
    name: str = "name",
    separator: str = "",
    ends: Sequence[str] = (),
) -> Reader:
    """A reader for the usual definition, with its name in one field and its body in another.

    `separator`: stands between the parts of a name, if it may have several. `ends`: the signature ends with the first
    of these fields that is there; by default where the body begins.
    """

    def read(node: Node, data: bytes, item: bool) -> Found | None:
        label = node.child_by_field_name(name)
        if label is None or label.is_missing:
            return None
        written = spaced(text_of(label, data))
        names = tuple(filter(None, written.split(separator))) if separator else (written,)
        last = next((part for field in ends if (part := node.child_by_field_name(field)) is not None), None)
        end = last.end_byte if last is not None else 0
        return Found(kind, names, node.child_by_field_name(body), scope, signature_end=end)

    return read


FUNCTION = definition_reader(BlockKind.FUNCTION, "function")
CLASS = definition_reader(BlockKind.CLASS, "class")
TYPE = definition_reader(BlockKind.CLASS)
ASSIGNMENT = definition_reader(BlockKind.ASSIGNMENT, body="value")


def namespace(node: Node, data: bytes, item: bool) -> Found | None:
    """A named scope that is not a block itself; its parts are."""
    label = node.child_by_field_name("name")
    names = tuple(part for part in text_of(label, data).strip("\"'").split("::") if part) if label is not None else ()
    return Found(BlockKind.CLASS, names, node.child_by_field_name("body"), "namespace")
