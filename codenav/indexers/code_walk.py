"""A walk over the syntax tree of a file in any language but Python, which collects its blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind
from codenav.indexers.code_rules import Found, Rules, last_row, spaced, text_of
from codenav.indexers.code_text import Mark, Marks, beginning, doc_text, is_licence, prototype, words_above
from codenav.indexers.code_tree import ERROR, Grammar, Role
from codenav.indexers.draft import Draft, Elision

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH = 100
"""The deepest nesting of definitions, as in Python; deeper ones are left out."""

LONG_ASSIGNMENT = 1_000
"""Bytes. A longer field or constant of a class is a separate block, and `...` in the block of the class."""

RUN_BYTES = 6_000
"""Bytes. A run of statements is split into blocks of about this size, between statements."""

_LABELS = {"name", "condition", "value"}
"""Fields of a container that describe it and are not among its parts."""

_KEYWORD = re.compile(rb"(?:const|let|var|type)[ \t]+\Z")
"""The keyword before a local definition: part of its text, though not of its node."""

_NO_ROLE = Role("")
_TRANSPARENT = Role("ERROR", container=True)


@dataclass(slots=True)
class _Frame:
    """The surroundings of a node."""

    depth: int
    """Depth of the node that opened the frame."""
    items: int
    """Depth of the nodes that are items here; -1 if none are."""
    names: tuple[str, ...] = ()
    kind: str = "file"
    """The kind of the nearest enclosing definition: `file`, `class` or `function`. A namespace counts as `file`."""
    runs: bool = False
    """True if items that are not definitions are collected as statements."""
    elided: list[Elision] | None = None
    """The elisions of the enclosing block."""
    outer: Node | None = None
    """The wrapper around a single definition, which is part of it."""
    prefix: str = ""
    """The first words of a wrapper that holds several definitions: `export const`."""
    importable: str | None = None
    """The import line of the enclosing definition; None outside of any."""

    def within(self, depth: int, items: int, *, runs: bool = False, elided: list[Elision] | None = None) -> _Frame:
        """The frame of a node that is neither a scope nor a definition."""
        # Not `dataclasses.replace`, which takes ten times as long.
        return _Frame(depth, items, self.names, self.kind, runs, elided, importable=self.importable)


class Walk:
    """A single pass over a syntax tree, with a cursor.

    `Node.children` would keep every node of the tree alive, and tree-sitter's queries take half a minute for 200,000
    open brackets, without a way to stop them.
    """

    def __init__(
        self, data: bytes, root: Node, rules: Rules, grammar: Grammar, marks: Marks, *, path: str, parsed: bytes = b""
    ) -> None:
        """`parsed` is what was parsed in place of `data`, with spaces for what was left out."""
        self._data, self._root, self._rules, self._grammar = data, root, rules, grammar
        self._parsed = parsed or data
        self._module = path.rpartition("/")[2].partition(".")[0]
        self._frames = [_Frame(depth=0, items=1, runs=True)]
        self._marks = marks
        self._run: Draft | None = None
        """Adjacent imports, or adjacent statements."""
        self._words: list[str] = []
        """The beginnings of the first of them."""
        self._claimed: set[int] = set()
        self._package = ""
        self._head: list[Mark] | None = None
        self._drafts: list[Draft] = []
        self.called: list[tuple[int, int]] = []
        """Byte ranges that the names of calls are read from."""

    def drafts(self) -> list[Draft]:
        """The drafts in order of the source, outer ones before inner ones."""
        cursor = self._root.walk()
        roles, opaque, frames = self._grammar.roles, self._grammar.opaque, self._frames
        depth, around = 1, frames[-1]
        going = cursor.goto_first_child()
        while going:
            node = cursor.node
            assert node is not None
            number = node.kind_id
            hidden = opaque[number]
            if hidden < 2:
                role = roles.get(number)
                item = depth == around.items
                if role is not None or (item and cursor.field_name not in _LABELS):
                    self._visit(node, depth, item, role or (_TRANSPARENT if number == ERROR else _NO_ROLE))
                    around = frames[-1]
                if not hidden and cursor.goto_first_child():
                    depth += 1
                    continue
            while not cursor.goto_next_sibling():
                depth -= 1
                if depth == 0:
                    going = False
                    break
                cursor.goto_parent()
            while around.depth >= depth and len(frames) > 1:
                self._leave(frames.pop())
                around = frames[-1]
        while len(frames) > 1:
            self._leave(frames.pop())
        self._flush()
        self._drafts += self._head_documents()
        self._drafts.sort(key=lambda draft: (draft.start, -draft.end))
        return self._drafts

    def _leave(self, frame: _Frame) -> None:
        if frame.runs and frame.names != self._frames[-1].names:
            self._flush()

    def _visit(self, node: Node, depth: int, item: bool, role: Role) -> None:
        frame = self._frames[-1]
        if role.comment:
            self._marks.add(node, comment=True)
            return
        if role.attribute:
            self._marks.add(node, comment=False)
        if role.call is not None and (span := _call_range(node, *role.call)):
            self.called.append(span)
        if role.package and not self._package:
            self._package = _package_of(node, self._data)
        if item and self._head is None and not (role.ignored or role.package):
            self._head = list(self._marks)
        if role.reader is not None and node.id not in self._claimed:
            found = role.reader(node, self._data, item)
            if found is not None and self._define(node, depth, item, found):
                return
        if not item or role.ignored or role.attribute:
            return
        if role.wrapper and self._wrap(node, depth):
            return
        if role.container:
            self._frames.append(frame.within(depth, depth + 1, runs=frame.runs, elided=frame.elided))
        elif role.package:
            return
        elif frame.runs and (role.importing or (role.wrapper and node.child_by_field_name("source") is not None)):
            self._add(BlockKind.IMPORT, node)
        elif frame.runs and role.conditional:
            self._conditional(node, depth)
        elif frame.runs and node.is_named and node.child_count:
            self._add(BlockKind.ASSIGNMENT, node)
            run = self._run
            self._frames.append(frame.within(depth, -1, elided=run.elided if run else None))

    def _wrap(self, node: Node, depth: int) -> bool:
        """Open a frame for a wrapper and return True, if there is a definition in it."""
        frame = self._frames[-1]
        inner = 0
        first = node
        for child in node.children:
            role = self._grammar.roles.get(child.kind_id)
            if role is not None and (role.reader is not None or role.wrapper):
                first = child if not inner else first
                inner += 1
        if not inner:
            return False
        outer = frame.outer if frame.outer is not None else node
        prefix = ""
        if inner > 1:
            words = self._slice(outer.start_byte, first.start_byte).partition("(")[0].split("\n")[0]
            prefix = words.strip() + " "
        wrapper = frame.within(depth, depth + 1, elided=frame.elided)
        wrapper.outer, wrapper.prefix = outer if inner == 1 else None, prefix
        self._frames.append(wrapper)
        return True

    def _define(self, node: Node, depth: int, item: bool, found: Found) -> bool:
        frame = self._frames[-1]
        outer = frame.outer if frame.outer is not None and item else node
        names = frame.names + found.names
        if not found.names and not found.scope:
            return True
        if "" in found.names:
            return False
        if found.scope == "namespace":
            self._flush()
            scope = frame.within(depth, depth + 1, runs=frame.runs, elided=frame.elided)
            scope.names, scope.kind = names, "class" if frame.kind == "class" else "file"
            self._frames.append(scope)
            return True
        if found.kind is BlockKind.IMPORT:
            self._add(BlockKind.IMPORT, outer)
            return True
        if found.own and frame.kind == "function" and found.scope != "members":
            return False
        if found.kind is BlockKind.ASSIGNMENT and not found.own:
            if not item:
                return False
            if frame.kind == "class" and outer.end_byte - outer.start_byte <= LONG_ASSIGNMENT:
                return True
        if found.claims is not None:
            self._claimed.add(found.claims.id)
        self._flush()
        if len(names) <= DEPTH:
            self._draft(node, outer, depth, names, found)
        return True

    def _draft(self, node: Node, outer: Node, depth: int, names: tuple[str, ...], found: Found) -> None:
        frame = self._frames[-1]
        kind = found.kind
        if kind is BlockKind.FUNCTION and frame.kind == "class":
            kind = BlockKind.METHOD
        start, row = outer.start_byte, outer.start_point.row
        keyword = _KEYWORD.search(self._data, max(0, start - 20), start) if frame.items < 0 else None
        if keyword is not None:
            start = keyword.start()
        start = beginning(self._data, self._parsed, start)
        marks = self._marks.above(start, row)
        if not marks and (words := words_above(self._data, self._parsed, start)) != start:
            upper = row - self._data.count(b"\n", words, start)
            marks = self._marks.above(words, upper)
            start, row = (words, upper) if marks else (start, row)
        signature = self._signature(start, node, outer, found)
        importable = frame.importable
        if importable is None:
            importable = self._import_line(names[0], found.kind, signature)
        draft = Draft(
            kind=kind,
            name=names[-1],
            qualname=".".join(names),
            start=marks[0].start if marks else start,
            end=outer.end_byte,
            rows=(marks[0].rows[0] if marks else row, last_row(outer)),
            signature=signature,
            docstring=doc_text([self._slice(mark.start, mark.end) for mark in marks if mark.comment]),
            importable=importable,
        )
        self._drafts.append(draft)
        for also in found.also:
            self._drafts.append(replace(draft, name=also, qualname=".".join((*names[:-1], also))))
        for name, other in found.others:
            self._alias(draft, name, other)
        if frame.elided is not None:
            short = kind is BlockKind.ASSIGNMENT and draft.end - start <= LONG_ASSIGNMENT
            frame.elided += _elisions(self._data, marks, start, None if short else found.body)
        inner = frame.within(depth, -1)
        inner.importable = ""
        if found.scope != "alias":
            inner.names = names[:-1] if found.scope == "members" else names
        if found.scope in ("class", "alias", "members", "module"):
            inner.elided = draft.elided
        if found.scope in ("class", "members", "module"):
            inner.items, inner.importable = depth + 1, importable
            inner.kind = frame.kind if found.scope == "module" else "class"
        elif found.scope == "function":
            inner.kind = "function"
        self._frames.append(inner)

    def _alias(self, draft: Draft, name: str, node: Node) -> None:
        """Add a further name of a type, with the piece of the source that gives it."""
        rows = (node.start_point.row, last_row(node))
        signature = f"typedef {draft.name} {self._slice(node.start_byte, node.end_byte)}"
        qualname = ".".join((*draft.qualname.split(".")[:-1], name))
        self._drafts.append(Draft(draft.kind, name, qualname, node.start_byte, node.end_byte, rows, signature))

    def _signature(self, start: int, node: Node, outer: Node, found: Found) -> str:
        frame = self._frames[-1]
        body = found.body
        end = found.signature_end or (body.start_byte if body is not None else node.end_byte)
        if found.kind is BlockKind.ASSIGNMENT:
            return prototype(frame.prefix + self._slice(start, min(node.end_byte, start + 800)), 200)
        pieces = [frame.prefix]
        for attribute in _attributes(outer, node, self._rules):
            if start <= attribute.start_byte < end:
                pieces.append(self._slice(start, attribute.start_byte))
                start = attribute.end_byte
        pieces.append(self._slice(start, max(start, end)))
        if found.kind is BlockKind.CLASS and body is not None and not found.signature_end:
            # `typedef struct { … } point;`
            pieces.append(" " + self._slice(body.end_byte, min(node.end_byte, body.end_byte + 100)))
        return prototype("".join(pieces))

    def _import_line(self, name: str, kind: BlockKind, signature: str) -> str:
        rules = self._rules
        if rules.offers:
            return name
        if not self._package or kind not in (BlockKind.CLASS, BlockKind.FUNCTION):
            return ""
        if rules.only_public and not re.search(r"\bpublic\b", signature):
            return ""
        function = "function " if kind is BlockKind.FUNCTION else ""
        return rules.import_line.format(package=self._package, name=name, function=function)

    def _conditional(self, node: Node, depth: int) -> None:
        frame = self._frames[-1]
        self._flush()
        header = prototype(self._slice(node.start_byte, min(node.end_byte, node.start_byte + 400)).split("\n")[0], 200)
        rows = (node.start_point.row, last_row(node))
        draft = Draft(BlockKind.CONDITIONAL, header, header, node.start_byte, node.end_byte, rows, header)
        self._drafts.append(draft)
        self._frames.append(frame.within(depth, -1, elided=draft.elided))

    def _add(self, kind: BlockKind, node: Node) -> None:
        """Add an import or a statement to the current run, or begin a new run."""
        run = self._run
        if run is not None and (run.kind is not kind or node.end_byte - run.start > RUN_BYTES):
            self._flush()
            run = None
        row, last = node.start_point.row, last_row(node)
        if len(self._words) < 20:
            words = prototype(self._slice(node.start_byte, min(node.end_byte, node.start_byte + 400)), 100)
            self._words += [words] if words or run is None else []
        if run is not None:
            run.end, run.rows = node.end_byte, (run.rows[0], last)
            return
        marks = self._marks.above(node.start_byte, row) if kind is BlockKind.ASSIGNMENT else []
        start, row = (marks[0].start, marks[0].rows[0]) if marks else (node.start_byte, row)
        name = "imports" if kind is BlockKind.IMPORT else "statements"
        self._run = Draft(kind, name, name, start, node.end_byte, (row, last))

    def _flush(self) -> None:
        """End the current run."""
        if self._run is not None:
            self._run.signature = spaced("; ".join(self._words), 300)
            self._drafts.append(self._run)
        self._run, self._words = None, []

    def _head_documents(self) -> Iterator[Draft]:
        """The comments at the top of the file as documents, unless they are a licence notice."""
        used = {draft.start for draft in self._drafts}
        chains: list[list[Mark]] = []
        for mark in self._marks if self._head is None else self._head:
            if chains and mark.rows[0] <= chains[-1][-1].rows[1] + 1:
                chains[-1].append(mark)
            else:
                chains.append([mark])
        for chain in chains:
            text = doc_text([self._slice(mark.start, mark.end) for mark in chain if mark.comment])
            if chain[0].start in used or not text.strip() or is_licence(text):
                continue
            rows = (chain[0].rows[0], chain[-1].rows[1])
            title = text.strip().partition("\n")[0][:200]
            name = self._module
            yield Draft(BlockKind.DOCUMENT, name, name, chain[0].start, chain[-1].end, rows, title, text)

    def _slice(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", "replace")


def _elisions(data: bytes, marks: list[Mark], start: int, body: Node | None) -> Iterator[Elision]:
    """The parts of a definition that the enclosing block leaves out: doc comments, and the body."""
    for mark, after in zip(marks, [*(mark.start for mark in marks[1:]), start], strict=False):
        if mark.comment:
            yield Elision(mark.start, after, "")
    if body is not None and body.end_byte - body.start_byte > 5:
        opening = data[body.start_byte : body.start_byte + 2]
        shown = "{ ... }" if opening[:1] == b"{" else "=> ..." if opening == b"=>" else "..."
        yield Elision(body.start_byte, body.end_byte, shown)


def _attributes(outer: Node, node: Node, rules: Rules) -> list[Node]:
    """The attributes of a definition, which are no part of its signature."""
    attributes: list[Node] = []
    for around in ((outer,) if outer == node else (outer, node)) if rules.attributes else ():
        for index in range(min(around.child_count, 10)):
            child = around.child(index)
            if child.type in rules.attributes:
                attributes.append(child)
            elif child.type in rules.modifiers:
                attributes += [inner for inner in child.children if inner.type in rules.attributes]
    return attributes


def _package_of(node: Node, data: bytes) -> str:
    """The package that a node names."""
    label = node.child_by_field_name("name")
    if label is None:
        label = next((child for child in node.named_children if child.type.endswith("identifier")), None)
    return spaced(text_of(label, data)) if label is not None else ""


def _call_range(node: Node, first: str, last: str) -> tuple[int, int] | None:
    """The range of bytes that holds the name of a called function, by the fields where it begins and ends."""
    if last:
        end = node.child_by_field_name(last)
        start = node.child_by_field_name(first) if first != last else end
    else:
        start = end = next((child for child in node.named_children if "name" in child.type), None)
    return ((start or end).start_byte, end.end_byte) if end is not None else None
