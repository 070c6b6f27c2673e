"""A walk over the syntax tree of a Python file, which collects its blocks."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind
from codenav.indexers.python_draft import Draft
from codenav.indexers.python_lines import DEPTH
from codenav.indexers.python_text import literal_text, one_line

if TYPE_CHECKING:
    from tree_sitter import Node

LONG_ASSIGNMENT = 1_000
"""Bytes. A longer assignment in a class is a separate block, and `NAME = ...` in the block of the class."""

_CONDITIONALS = {
    "if_statement", "for_statement", "while_statement", "try_statement", "with_statement", "match_statement",
}  # fmt: skip
_COMPOUND = _CONDITIONALS | {
    "block", "elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause", "case_clause",
    "ERROR",
}  # fmt: skip
_IMPORTS = {"import_statement", "import_from_statement", "future_import_statement"}
_ASSIGNMENTS = {"assignment", "augmented_assignment", "type_alias_statement"}
_DEFINITIONS = {"function_definition", "class_definition", "decorated_definition"}
_TRIVIA = {"comment", ";", "line_continuation", "pass_statement"}
_NOT_AT_RUN_TIME = (b"__name__", b"TYPE_CHECKING")
"""Names whose presence in the condition of an `if` means that its definitions cannot be imported."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The surroundings of a statement."""

    names: tuple[str, ...] = ()
    kind: str = "module"
    """The kind of the nearest enclosing definition: `module`, `class` or `function`."""
    importable: str | None = None
    """The enclosing module-level name; None at module level, empty if nothing can be imported."""
    elided: list[tuple[int, int]] | None = None
    """The ranges that the block of the enclosing class or conditional shows as `...`."""


class Walk:
    """A walk with an explicit stack, since files nest deeper than Python can recurse."""

    def __init__(self, data: bytes, root: Node, *, path: str, module: str) -> None:
        self._data, self._root = data, root
        self._module_name = module or path.rpartition("/")[2].rpartition(".")[0]
        self._drafts: list[Draft] = []
        self._stack: list[tuple[Node, _Scope]] = []
        self._damaged = root.has_error
        self.definitions: dict[int, Draft] = {}
        """Drafts of definitions by the row of their `def` or `class`, 0-based."""

    def drafts(self) -> list[Draft]:
        """The drafts in order of the source, outer ones before inner ones."""
        self._module()
        while self._stack:
            node, scope = self._stack.pop()
            for child in node.children:
                self._visit(child, scope)
        self._drafts.sort(key=lambda draft: (draft.start, -draft.end))
        return self._drafts

    def _module(self) -> None:
        scope = _Scope()
        run: list[Node] = []
        first = True
        assigned: Draft | None = None
        for node in self._root.children:
            kind = _kind_of(node)
            if kind == "trivia":
                continue
            if run and kind != _kind_of(run[0]):
                self._run(run)
                run = []
            docstring = _string_text(node, self._data) if first or assigned else None
            last, assigned = assigned, None
            if docstring and last:
                last.docstring, last.end, last.rows = docstring, node.end_byte, (last.rows[0], node.end_point.row)
            elif docstring and docstring.strip():
                self._module_docstring(node, docstring)
            elif kind == "assignment":
                assigned = self._assignment(node, scope)
            elif kind:
                run.append(node)
            elif node.type in _CONDITIONALS:
                self._conditional(node, scope)
            else:
                self._visit(node, scope)
            first = False
        if run:
            self._run(run)

    def _visit(self, node: Node, scope: _Scope) -> None:
        kind = node.type
        if kind in _DEFINITIONS:
            self._definition(node, scope)
        elif kind == "if_statement" and scope.importable is None:
            self._if(node, scope)
        elif kind in _COMPOUND or (self._damaged and node.child_count and node.has_error):
            self._stack.append((node, scope))
        elif scope.kind == "class" and node.end_byte - node.start_byte > LONG_ASSIGNMENT:
            self._assignment(node, scope)

    def _if(self, node: Node, scope: _Scope) -> None:
        condition = node.child_by_field_name("condition")
        hidden = scope
        if condition is not None and self._is_guard(condition):
            hidden = _Scope(scope.names, scope.kind, "", scope.elided)
        consequence = node.child_by_field_name("consequence")
        for child in node.children:
            self._visit(child, hidden if child == consequence else scope)

    def _is_guard(self, condition: Node) -> bool:
        """True if a condition has one of the names that do not hold at import."""
        if not any(mark in self._data[condition.start_byte : condition.end_byte] for mark in _NOT_AT_RUN_TIME):
            return False
        stack = [condition]
        while stack:
            node = stack.pop()
            if node.type == "identifier" and any(mark in self._text(node).encode() for mark in _NOT_AT_RUN_TIME):
                return True
            stack += node.children
        return False

    def _definition(self, outer: Node, scope: _Scope) -> None:
        node = outer.child_by_field_name("definition") if outer.type == "decorated_definition" else outer
        name = node.child_by_field_name("name") if node is not None else None
        if node is None or name is None or name.is_missing:
            self._stack.append((outer, scope))
            return
        is_class = node.type == "class_definition"
        names = (*scope.names, self._text(name))
        body = node.child_by_field_name("body")
        end, last_row = _end_of(node)
        colon = next((child.end_byte for child in node.children if child.type == ":"), None)
        if colon is None:
            colon = body.start_byte if body is not None else end
        importable = "" if scope.kind == "function" else scope.importable if scope.importable is not None else names[0]
        draft = Draft(
            kind=BlockKind.CLASS if is_class else BlockKind.METHOD if scope.kind == "class" else BlockKind.FUNCTION,
            name=names[-1],
            qualname=".".join(names),
            start=outer.start_byte,
            end=end,
            rows=(outer.start_point.row, last_row),
            signature=one_line(self._slice(node.start_byte, colon).rstrip().removesuffix(":")),
            docstring=self._docstring(body),
            importable=importable,
        )
        self.definitions[node.start_point.row] = draft
        if scope.elided is not None and colon < end:
            scope.elided.append((colon, end))
        if len(names) > DEPTH:
            return
        self._drafts.append(draft)
        if body is not None:
            kind = "class" if is_class else "function"
            self._stack.append((body, _Scope(names, kind, importable, draft.elided if is_class else None)))

    def _conditional(self, node: Node, scope: _Scope) -> None:
        body = next((child for child in node.children if child.type in ("block", ":")), None)
        header = one_line(self._slice(node.start_byte, body.start_byte if body else node.end_byte), 200).rstrip(": ")
        end, last_row = _end_of(node)
        rows = (node.start_point.row, last_row)
        draft = Draft(BlockKind.CONDITIONAL, header, header, node.start_byte, end, rows, header)
        self._drafts.append(draft)
        self._visit(node, _Scope(scope.names, scope.kind, scope.importable, draft.elided))

    def _assignment(self, node: Node, scope: _Scope) -> Draft | None:
        inner = node
        if node.type == "expression_statement" and node.named_children:
            inner = node.named_children[0]
        target = inner.child_by_field_name("left")
        if target is None or inner.type not in _ASSIGNMENTS:
            return None
        label = one_line(self._text(target), 200)
        if inner.type == "type_alias_statement":
            # The grammar also takes `type[a] = b` and `type(a).b = c` for one.
            whole = one_line(self._slice(inner.start_byte, target.end_byte), 200)
            label = whole if label[:1] in ("[", "(") else label.partition("[")[0]
        value = inner.child_by_field_name("right")
        bound = scope.kind == "module" and value is not None
        draft = Draft(
            BlockKind.ASSIGNMENT,
            label.rpartition(".")[2] if label.replace(".", "").isidentifier() else label,
            ".".join((*scope.names, label)),
            node.start_byte,
            node.end_byte,
            (node.start_point.row, node.end_point.row),
            one_line(self._slice(node.start_byte, min(node.end_byte, node.start_byte + 800)), 200),
            importable=label if bound else "",
        )
        if scope.elided is not None and value is not None:
            scope.elided.append((value.start_byte, value.end_byte))
        self._drafts.append(draft)
        if node.has_error:
            self._stack.append((node, scope))
        return draft

    def _run(self, nodes: list[Node]) -> None:
        """Add adjacent imports, or other adjacent statements (calls, `del`, `assert`), as one block."""
        first, last = nodes[0], nodes[-1]
        kind, name = BlockKind.ASSIGNMENT, "statements"
        if first.type in _IMPORTS:
            kind, name = BlockKind.IMPORT, "imports"
        rows = (first.start_point.row, last.end_point.row)
        signature = one_line("; ".join(one_line(self._text(node), 100) for node in nodes[:20]), 300)
        self._drafts.append(Draft(kind, name, name, first.start_byte, last.end_byte, rows, signature))
        self._stack += [(node, _Scope()) for node in nodes if node.has_error]

    def _module_docstring(self, node: Node, docstring: str) -> None:
        name = self._module_name
        rows = (node.start_point.row, node.end_point.row)
        title = docstring.strip().partition("\n")[0][:200]
        self._drafts.append(
            Draft(
                BlockKind.DOCUMENT,
                name.rpartition(".")[2],
                name,
                node.start_byte,
                node.end_byte,
                rows,
                title,
                docstring,
            )
        )

    def _docstring(self, body: Node | None) -> str:
        for child in body.named_children if body is not None else ():
            if child.type != "comment":
                return _string_text(child, self._data) or ""
        return ""

    def _slice(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", "replace")

    def _text(self, node: Node) -> str:
        return self._slice(node.start_byte, node.end_byte)


def _kind_of(node: Node) -> str:
    """The kind of a module-level statement: `trivia`, `import`, `assignment`, `plain`, or "" if it has parts."""
    kind = node.type
    if kind in _TRIVIA:
        return "trivia"
    if kind in _IMPORTS:
        return "import"
    if kind in _COMPOUND or kind in _DEFINITIONS:
        return ""
    inner = node.named_children[0].type if kind == "expression_statement" and node.named_children else kind
    return "assignment" if inner in _ASSIGNMENTS else "plain"


def _string_text(statement: Node, data: bytes) -> str | None:
    """The text of a statement that is a string; None for anything else."""
    # With a comma after it, it is a tuple.
    if statement.type != "expression_statement" or statement.child_count != 1:
        return None
    literal = statement.named_children[0]
    if literal.type == "concatenated_string":
        parts = [child for child in literal.named_children if child.type == "string"]
    elif literal.type == "string":
        parts = [literal]
    else:
        return None
    texts = [literal_text(data[part.start_byte : part.end_byte].decode("utf-8", "replace")) for part in parts]
    return None if None in texts else cleandoc("".join(text for text in texts if text))


def _end_of(node: Node) -> tuple[int, int]:
    """The byte and row where a statement ends, without the comments after its last line."""
    last = node
    while last.child_count:
        child: Node | None = last.child(last.child_count - 1)
        while child is not None and child.type == "comment":
            child = child.prev_sibling
        if child is None:
            break
        last = child
    return last.end_byte, last.end_point.row
