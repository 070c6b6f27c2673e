"""Cython written as Python of the same length, so that the reader of Python finds its definitions where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from codenav.core.blocks import BlockKind
from codenav.indexers.python_draft import Draft
from codenav.indexers.python_text import one_line

_STRING_OR_COMMENT = re.compile(
    rb"#[^\n]*|(?P<triple>\"\"\"|''')(?:\\.|[^\\])*?(?P=triple)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_QUOTED = b"\x01"
"""What stands for each byte of a string while a statement is read."""
_BRACKET = re.compile(rb"[\[({]|[\])}]|\\?\n")
_MARK = re.compile(rb"[\[({]|[\])}]|[=!<>]=|:=|[:=,]")
_BEGINS = re.compile(rb"(?:cdef|cpdef|def|class)\b")
_FIRST = re.compile(rb"\w*")
_NAME = rb"(?<![\w\x80-\xff])[A-Za-z_\x80-\xff][\w\x80-\xff]*+"
_SCOPE = re.compile(
    rb"(?:cdef\s+|cpdef\s+|ctypedef\s+)?(?:(?:public|readonly|extern|api|packed)\s+)*"
    rb"(?P<kind>class|struct|union|enum|cppclass|fused)\s+(?:class\s+|struct\s+)?(?P<name>" + _NAME + rb")"
)
_GROUP = re.compile(rb"(?:cdef|cpdef|ctypedef)\b[^(=]*\Z|enum\s*\Z")
"""What stands before the colon of `cdef:`, `cdef extern from "math.h" nogil:` or `enum:`."""
_CALLABLE = re.compile(
    rb"(?P<name>\boperator\s*[^\w\s(]{1,3}|" + _NAME + rb")\s*(?:\x01+\s*|\[[^\]()]*\]\s*)?\((?!\s*\*)"
)
_BRACKETED = re.compile(rb"\[[^\[\]]*\]")
_NO_NAMES = {b"cdef", b"cpdef", b"ctypedef", b"def", b"public", b"inline", b"api", b"readonly", b"extern", b"const"}
_IMPORT = re.compile(rb"(?P<from>from\s+[\w.]+\s+)?cimport\b")
_POINTER = re.compile(rb"\(\s*\*\s*(" + _NAME + rb")\s*\)")
_LAST_NAME = re.compile(rb"(" + _NAME + rb")\s*(?:\[[^\]]*\]\s*)*\Z")
_CAST = re.compile(
    rb"(?:(?<=[=(,\[{:+\-*/%&|~<>!^])|\b(?:return|and|or|not|in|is|if|elif|while|else|yield))\s*"
    rb"(<[A-Za-z_][\w.\s,*&:\[\]()]*\??>)(?=\s*[\w(&\x01\[<\-])"
)
_ADDRESS = re.compile(rb"(?:[=(,\[]|\breturn)\s*(&)(?=\s*[A-Za-z_(])")
_NO_PYTHON = re.compile(rb"\bsizeof\s*\(([^()]*)\)|\b(new)\s+[A-Za-z_]|\b(c)\x01|\b\d+([uUlL]{1,3})\b")
"""The operand of `sizeof`, `new`, the mark of a character, and the size of a number."""
_FOR_FROM = re.compile(rb"for\s+\w+\s+(from)\b")
_CONDITION = {b"IF": b"if", b"ELIF": b"elif", b"ELSE": b"else"}
_PLAIN = {b"pass", b"def", b"class", b"async", b"if", b"elif", b"else"}
_DEPTH = 100
_LONG = 1_000
"""Bytes. The name of a function stands before this many bytes of its statement."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A function that is declared without a body, as in a `.pxd` file."""

    names: tuple[str, ...]
    in_class: bool
    start: int
    end: int
    rows: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Header:
    """The range of what was rewritten at the beginning of a definition, declaration or group."""

    start: int
    end: int
    importable: bool
    """True if Python can import what it defines."""


@dataclass(slots=True)
class Reading:
    """The Python for a Cython file. All offsets are bytes, and the same in both."""

    python: bytearray
    headers: dict[int, Header] = field(default_factory=dict)
    """By the row where each begins."""
    declared: list[Declared] = field(default_factory=list)

    def as_written(self, drafts: list[Draft], definitions: Mapping[int, Draft], data: bytes) -> list[Draft]:
        """The drafts with the signatures of the Cython file `data`, and those of what it only declares."""
        rows = {id(draft): row for row, draft in definitions.items()}
        for draft in drafts:
            header = self.headers.get(rows.get(id(draft), draft.rows[0]))
            if draft.kind in (BlockKind.IMPORT, BlockKind.ASSIGNMENT):
                draft.signature = one_line(_text(data[draft.start : min(draft.end, draft.start + 800)]), 200)
            elif header is not None and draft.kind is not BlockKind.DOCUMENT:
                draft.signature = one_line(_text(data[header.start : header.end]))
                if draft.kind is BlockKind.CONDITIONAL:
                    draft.name = draft.qualname = draft.signature[:200]
            if header is not None and not header.importable and "." not in draft.qualname:
                draft.importable = ""
        declared = [
            Draft(
                kind=BlockKind.METHOD if found.in_class else BlockKind.FUNCTION,
                name=found.names[-1],
                qualname=".".join(found.names),
                start=found.start,
                end=found.end,
                rows=found.rows,
                signature=one_line(_text(data[found.start : found.end])),
            )
            for found in self.declared
        ]
        return sorted([*drafts, *declared], key=lambda draft: (draft.start, -draft.end))


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the statements with more indentation are in."""

    indent: int
    names: tuple[str, ...] = ()
    kind: str = "module"
    """`module`, `class` or `function`."""
    declares: bool = False
    """True where a statement without `cdef` is a declaration: in `cdef extern from`, `cdef:`, a struct."""


def as_python(data: bytes) -> Reading:
    """Cython as Python: declarations become empty tuples, headers `def name(…):`, types in expressions blanks."""
    bare = bytearray(data)
    for found in _STRING_OR_COMMENT.finditer(data):
        bare[found.start() : found.end()] = (b" " if found[0][:1] == b"#" else _QUOTED) * len(found[0])
    reading = Reading(bytearray(data))
    scopes = [_Scope(-1)]
    decorators: list[_Statement] = []
    row = position = 0
    for start, end in _statements(bytes(bare)):
        row, position = row + data.count(b"\n", position, start), start
        indent = len(data[data.rfind(b"\n", 0, start) + 1 : start].expandtabs(8))
        while scopes[-1].indent >= indent:
            scopes.pop()
        statement = _Statement(reading, bytes(bare[start:end]), start, row, scopes[-1])
        if bare[start : start + 1] == b"@":
            decorators.append(statement)
            continue
        inner = statement.rewrite(indent)
        for decorator in decorators if inner is None else ():
            # Of a declaration: nothing follows in the Python.
            decorator.empty()
        decorators = []
        if inner is not None and len(scopes) < _DEPTH:
            scopes.append(inner)
    return reading


def _statements(bare: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of the logical lines that are not empty, without their indentation."""
    depth, start = 0, 0
    for found in _BRACKET.finditer(bare + b"\n"):
        mark = found[0]
        if mark in b"[({":
            depth += 1
        elif mark in b"])}":
            depth = max(0, depth - 1)
        # A definition at the margin: a bracket before it was never closed.
        elif mark == b"\n" and (depth == 0 or _BEGINS.match(bare, found.end())):
            line = bare[start : found.start()]
            if line.strip():
                yield start + len(line) - len(line.lstrip()), start + len(line.rstrip())
            start, depth = found.end(), 0


class _Statement:
    """A logical line of a Cython file."""

    def __init__(self, reading: Reading, bare: bytes, start: int, row: int, scope: _Scope) -> None:
        self._reading, self._bare, self._start, self._row, self._scope = reading, bare, start, row, scope

    def rewrite(self, indent: int) -> _Scope | None:
        """Write the Python for it; the scope that it opens, if any."""
        bare, scope = self._bare, self._scope
        first = _FIRST.match(bare)
        word = first[0] if first else b""
        if word in (b"cimport", b"from") and (found := _IMPORT.match(bare)):
            self._write(found.end() - 7, b" import" if found["from"] else b"import ")
            return None
        if word in _CONDITION:
            self._note(len(bare) - 1, importable=True)
            self._write(0, _CONDITION[word])
            return None
        if word == b"class" and not scope.declares:
            named = _SCOPE.match(bare)
            return _Scope(indent, (*scope.names, _text(named["name"])), "class") if named else None
        colon = _top(bare, b":")
        if word in (b"def", b"async"):
            return self._function(indent, colon, word)
        declares = word in (b"cdef", b"cpdef", b"ctypedef")
        if not declares and scope.declares:
            declares = word not in _PLAIN and bare[:1] not in (b"@", b".", _QUOTED)
        if declares and colon >= 0 and _top(bare[:colon], b"=") < 0:
            return self._group(indent, colon, word) or self._function(indent, colon, word)
        if word == b"property" and scope.kind == "class" and colon >= 0:
            return self._function(indent, colon, word)
        if declares or word in (b"include", b"DEF"):
            self._declaration(word)
        self._expressions()
        return None

    def _group(self, indent: int, colon: int, word: bytes) -> _Scope | None:
        """A class, struct or enum, or a group of declarations."""
        head, scope = self._bare[:colon], self._scope
        found = _SCOPE.match(head)
        if found is None and not _GROUP.match(head):
            return None
        named = found is not None and colon >= len(b"class ") + len(found["name"])
        is_class = found is not None and found["kind"] == b"class"
        inline = self._bare[colon + 1 :].strip()
        if inline and word != b"class" and not is_class:
            self._empty(colon + 1, len(self._bare))
        self._blank(0, colon)
        # `enum E:` has no room for `class E:`.
        self._write(0, b"class " + found["name"] if named and found is not None else b"if 1")
        self._note(colon, importable=is_class or word == b"cpdef")
        if not named or found is None:
            return _Scope(indent, scope.names, scope.kind, declares=True)
        return _Scope(indent, (*scope.names, _text(found["name"])), "class", declares=not is_class)

    def _function(self, indent: int, colon: int, word: bytes) -> _Scope | None:
        name = self._called(self._bare[:colon][:_LONG]) if word != b"property" else self._bare[8:colon].strip()
        if colon < 0 or not re.fullmatch(_NAME, name):
            return None
        self._blank(0, colon)
        self._write(0, (b"async def " if word == b"async" else b"def ") + name + b"(")
        self._write(colon - 1, b")")
        self._note(colon, importable=word != b"cdef")
        return _Scope(indent, (*self._scope.names, _text(name)), "function")

    def _declaration(self, word: bytes) -> None:
        bare, scope = self._bare, self._scope
        self._note(len(bare), importable=False)
        name = self._called(bare[:_LONG]) if word not in (b"ctypedef", b"DEF", b"include") else b""
        if name and scope.kind != "function":
            rows = (self._row, self._row + self._reading.python.count(b"\n", self._start, self._start + len(bare)))
            names = (*scope.names, _text(name))
            end = self._start + len(bare)
            self._reading.declared.append(Declared(names, scope.kind == "class", self._start, end, rows))
        equals = _top(bare, b"=") if not name else -1
        alias = _POINTER.search(bare) or _LAST_NAME.search(bare[-_LONG:]) if word == b"ctypedef" else None
        named = _LAST_NAME.search(bare[max(0, equals - _LONG) : equals]) if equals > 0 else alias
        if named is None:
            self._empty(0, len(bare))
        elif equals > 0:
            self._blank(0, equals)
            self._write(0, named[1])
            for comma in _tops(bare, b","):
                if comma > equals:
                    self._write(comma, b";")
        elif len(bare) >= len(named[1]) + 3:
            self._blank(0, len(bare))
            self._write(0, named[1] + b"=(")
            self._write(len(bare) - 1, b")")

    def _called(self, head: bytes) -> bytes:
        """The name before the parameters; empty for a variable, also one that holds a pointer to a function."""
        for found in _CALLABLE.finditer(head):
            if found["name"] not in _NO_NAMES:
                before = head[: found.start()]
                while (shorter := _BRACKETED.sub(b"", before)) != before:
                    before = shorter
                return b"" if b"=" in before else found["name"]
        return b""

    def _expressions(self) -> None:
        bare = self._bare
        for pattern in (_CAST, _ADDRESS, _NO_PYTHON):
            for found in pattern.finditer(bare):
                first, last = found.span(found.lastindex or 0)
                self._blank(first, last)
                bare = bare[:first] + b" " * (last - first) + bare[last:]
        if (loop := _FOR_FROM.match(bare)) is not None:
            self._write(loop.start(1), b"in  ")

    def _note(self, end: int, *, importable: bool) -> None:
        self._reading.headers[self._row] = Header(self._start, self._start + end, importable)

    def empty(self) -> None:
        """Write an expression that says nothing."""
        self._empty(0, len(self._bare))

    def _empty(self, start: int, end: int) -> None:
        self._blank(start, end)
        self._write(start, b"(" if end - start > 1 else b"0")
        self._write(end - 1, b")" if end - start > 1 else b"0")

    def _blank(self, start: int, end: int) -> None:
        python, offset = self._reading.python, self._start
        python[offset + start : offset + end] = re.sub(rb"[^\n]", b" ", python[offset + start : offset + end])

    def _write(self, start: int, text: bytes) -> None:
        first = self._start + start
        self._reading.python[first : first + len(text)] = text


def _top(bare: bytes, mark: bytes) -> int:
    """The offset of the first `:` or single `=` outside of brackets, or -1."""
    return next(_tops(bare, mark), -1)


def _tops(bare: bytes, mark: bytes) -> Iterator[int]:
    """The offsets of a mark outside of brackets."""
    depth = 0
    for found in _MARK.finditer(bare):
        if found[0] in b"[({":
            depth += 1
        elif found[0] in b"])}":
            depth -= 1
        elif found[0] == mark and depth <= 0:
            yield found.start()


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
