"""Cython written as Python of the same length, so that the reader of Python finds its definitions where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from codenav.core.blocks import BlockKind
from codenav.indexers.draft import Draft
from codenav.indexers.python_text import one_line

_STRING_OR_COMMENT = re.compile(
    r"#[^\n]*|(?P<triple>\"\"\"|''')(?:\\.|[^\\])*?(?P=triple)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_QUOTED = "\x01"
"""The character in place of each one of a string while a statement is read."""
_BRACKET = re.compile(r"[\[({]|[\])}]|\\?\n")
_MARK = re.compile(r"[\[({]|[\])}]|[=!<>]=|:=|[:=,]")
_BEGINS = re.compile(r"(?:cdef|cpdef|def|class)\b")
_FIRST = re.compile(r"\w*")
_NAME = r"(?<!\w)[^\W\d]\w*+"
_SCOPE = re.compile(
    r"(?:cdef\s+|cpdef\s+|ctypedef\s+)?(?:(?:public|readonly|extern|api|packed)\s+)*"
    r"(?P<kind>class|struct|union|enum|cppclass|fused)\s+(?:class\s+|struct\s+)?(?P<name>" + _NAME + r")"
)
_GROUP = re.compile(r"(?:cdef|cpdef|ctypedef)\b[^(=]*\Z|enum\s*\Z")
"""The text before the colon of `cdef:`, `cdef extern from "math.h" nogil:` or `enum:`."""
_CALLABLE = re.compile(
    r"(?P<name>\boperator\s*[^\w\s(]{1,3}|" + _NAME + r")\s*(?:\x01+\s*|\[[^\]()]*\]\s*)?\((?!\s*\*)"
)
_BRACKETED = re.compile(r"\[[^\[\]]*\]")
_NO_NAMES = {"cdef", "cpdef", "ctypedef", "def", "public", "inline", "api", "readonly", "extern", "const"}
_IMPORT = re.compile(r"(?P<from>from\s+[\w.]+\s+)?cimport\b")
_POINTER = re.compile(r"\(\s*\*\s*(" + _NAME + r")\s*\)")
_LAST_NAME = re.compile(r"(" + _NAME + r")\s*(?:\[[^\]]*\]\s*)*\Z")
_CONDITION = {"IF": "if", "ELIF": "elif", "ELSE": "else"}
_PLAIN = {"pass", "def", "class", "async", "if", "elif", "else"}
_DEPTH = 100
_LONG = 1_000
"""Characters. The name of a function stands before this many characters of its statement."""


@dataclass(frozen=True, slots=True)
class Header:
    """The range of what was rewritten at the beginning of a definition, declaration or group."""

    start: int
    end: int
    importable: bool
    """True if Python can import what it defines."""


@dataclass(slots=True)
class Reading:
    """The Python for a Cython file. All offsets are the same in both."""

    text: str
    characters: list[str]
    headers: dict[int, Header] = field(default_factory=dict)
    """By the offset where each begins."""
    declared: list[Draft] = field(default_factory=list)
    """Functions that are declared without a body, as in a `.pxd` file."""

    @property
    def python(self) -> str:
        """The Python as a whole."""
        return "".join(self.characters)

    def sign(self, drafts: list[Draft], definitions: Mapping[int, Draft]) -> None:
        """Give drafts the signatures of the Cython; `definitions` by the offsets of what defines them."""
        starts = {id(draft): start for start, draft in definitions.items()}
        for draft in drafts:
            header = self.headers.get(starts.get(id(draft), draft.start))
            if draft.kind in (BlockKind.IMPORT, BlockKind.ASSIGNMENT):
                draft.signature = one_line(self.text[draft.start : min(draft.end, draft.start + 800)], 200)
            elif header is not None and draft.kind is not BlockKind.DOCUMENT:
                draft.signature = one_line(self.text[header.start : header.end])
                if draft.kind is BlockKind.CONDITIONAL:
                    draft.name = draft.qualname = draft.signature[:200]
            if header is not None and not header.importable and "." not in draft.qualname:
                draft.importable = ""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The definition or group around the statements with more indentation."""

    indent: int
    names: tuple[str, ...] = ()
    kind: str = "module"
    """`module`, `class` or `function`."""
    declares: bool = False
    """True where a statement without `cdef` is a declaration: in `cdef extern from`, `cdef:`, a struct."""


def as_python(text: str) -> Reading:
    """Cython as Python: declarations become empty tuples, headers `def name(…):`."""
    bare = _STRING_OR_COMMENT.sub(
        lambda found: (" " if found[0][:1] == "#" else _QUOTED) * len(found[0]), text.replace(_QUOTED, " ")
    )
    reading = Reading(text, list(text))
    scopes = [_Scope(-1)]
    decorators: list[_Statement] = []
    for start, end in _statements(bare):
        indent = len(text[text.rfind("\n", 0, start) + 1 : start].expandtabs(8))
        while scopes[-1].indent >= indent:
            scopes.pop()
        statement = _Statement(reading, bare[start:end], start, scopes[-1])
        if bare[start : start + 1] == "@":
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


def _statements(bare: str) -> Iterator[tuple[int, int]]:
    """The ranges of the logical lines that are not empty, without their indentation."""
    depth, start = 0, 0
    for found in _BRACKET.finditer(bare + "\n"):
        mark = found[0]
        if mark in "[({":
            depth += 1
        elif mark in "])}":
            depth = max(0, depth - 1)
        # A definition at the margin: a bracket before it was never closed.
        elif mark == "\n" and (depth == 0 or _BEGINS.match(bare, found.end())):
            line = bare[start : found.start()]
            if line.strip():
                yield start + len(line) - len(line.lstrip()), start + len(line.rstrip())
            start, depth = found.end(), 0


class _Statement:
    """A logical line of a Cython file."""

    def __init__(self, reading: Reading, bare: str, start: int, scope: _Scope) -> None:
        self._reading, self._bare, self._start, self._scope = reading, bare, start, scope

    def rewrite(self, indent: int) -> _Scope | None:
        """Write the Python for it; the scope that it opens, if any."""
        bare, scope = self._bare, self._scope
        first = _FIRST.match(bare)
        word = first[0] if first else ""
        if word in ("cimport", "from") and (found := _IMPORT.match(bare)):
            self._write(found.end() - 7, " import" if found["from"] else "import ")
            return None
        if word in _CONDITION:
            self._note(len(bare) - 1, importable=True)
            self._write(0, _CONDITION[word])
            return None
        if word == "class" and not scope.declares:
            named = _SCOPE.match(bare)
            return _Scope(indent, (*scope.names, named["name"]), "class") if named else None
        colon = _top(bare, ":")
        if word in ("def", "async"):
            return self._function(indent, colon, word)
        declares = word in ("cdef", "cpdef", "ctypedef")
        if not declares and scope.declares:
            declares = word not in _PLAIN and bare[:1] not in ("@", ".", _QUOTED)
        if declares and colon >= 0 and _top(bare[:colon], "=") < 0:
            return self._group(indent, colon, word) or self._function(indent, colon, word)
        if word == "property" and scope.kind == "class" and colon >= 0:
            return self._function(indent, colon, word)
        if declares or word in ("include", "DEF"):
            self._declaration(word)
        return None

    def _group(self, indent: int, colon: int, word: str) -> _Scope | None:
        """A class, struct or enum, or a group of declarations."""
        head, scope = self._bare[:colon], self._scope
        found = _SCOPE.match(head)
        if found is None and not _GROUP.match(head):
            return None
        named = found is not None and colon >= len("class ") + len(found["name"])
        is_class = found is not None and found["kind"] == "class"
        inline = self._bare[colon + 1 :].strip()
        if inline and word != "class" and not is_class:
            self._empty(colon + 1, len(self._bare))
        self._blank(0, colon)
        # `enum E:` has no room for `class E:`.
        self._write(0, "class " + found["name"] if named and found is not None else "if 1")
        self._note(colon, importable=is_class or word == "cpdef")
        if not named or found is None:
            return _Scope(indent, scope.names, scope.kind, declares=True)
        return _Scope(indent, (*scope.names, found["name"]), "class", declares=not is_class)

    def _function(self, indent: int, colon: int, word: str) -> _Scope | None:
        name = self._called(self._bare[:colon][:_LONG]) if word != "property" else self._bare[8:colon].strip()
        if colon < 0 or not re.fullmatch(_NAME, name):
            return None
        self._blank(0, colon)
        self._write(0, ("async def " if word == "async" else "def ") + name + "(")
        self._write(colon - 1, ")")
        self._note(colon, importable=word != "cdef")
        return _Scope(indent, (*self._scope.names, name), "function")

    def _declaration(self, word: str) -> None:
        bare, scope = self._bare, self._scope
        self._note(len(bare), importable=False)
        name = self._called(bare[:_LONG]) if word not in ("ctypedef", "DEF", "include") else ""
        if name and scope.kind != "function":
            kind = BlockKind.METHOD if scope.kind == "class" else BlockKind.FUNCTION
            qualname, end = ".".join((*scope.names, name)), self._start + len(bare)
            signature = one_line(self._reading.text[self._start : end])
            self._reading.declared.append(Draft(kind, name, qualname, self._start, end, (0, 0), signature))
        equals = _top(bare, "=") if not name else -1
        alias = _POINTER.search(bare) or _LAST_NAME.search(bare[-_LONG:]) if word == "ctypedef" else None
        named = _LAST_NAME.search(bare[max(0, equals - _LONG) : equals]) if equals > 0 else alias
        if named is None:
            self._empty(0, len(bare))
        elif equals > 0:
            self._blank(0, equals)
            self._write(0, named[1])
            for comma in _tops(bare, ","):
                if comma > equals:
                    self._write(comma, ";")
        elif len(bare) >= len(named[1]) + 3:
            self._blank(0, len(bare))
            self._write(0, named[1] + "=(")
            self._write(len(bare) - 1, ")")

    def _called(self, head: str) -> str:
        """The name before the parameters; empty for a variable, also one that holds a pointer to a function."""
        for found in _CALLABLE.finditer(head):
            if found["name"] not in _NO_NAMES:
                before = head[: found.start()]
                while (shorter := _BRACKETED.sub("", before)) != before:
                    before = shorter
                return "" if "=" in before else found["name"]
        return ""

    def _note(self, end: int, *, importable: bool) -> None:
        self._reading.headers[self._start] = Header(self._start, self._start + end, importable)

    def empty(self) -> None:
        """Write an expression that says nothing."""
        self._empty(0, len(self._bare))

    def _empty(self, start: int, end: int) -> None:
        self._blank(start, end)
        self._write(start, "(" if end - start > 1 else "0")
        self._write(end - 1, ")" if end - start > 1 else "0")

    def _blank(self, start: int, end: int) -> None:
        for at in range(self._start + start, self._start + end):
            if self._reading.characters[at] != "\n":
                self._reading.characters[at] = " "

    def _write(self, start: int, text: str) -> None:
        first = self._start + start
        self._reading.characters[first : first + len(text)] = text


def _top(bare: str, mark: str) -> int:
    """The offset of the first `:` or single `=` outside of brackets, or -1."""
    return next(_tops(bare, mark), -1)


def _tops(bare: str, mark: str) -> Iterator[int]:
    """The offsets of a mark outside of brackets."""
    depth = 0
    for found in _MARK.finditer(bare):
        if found[0] in "[({":
            depth += 1
        elif found[0] in "])}":
            depth -= 1
        elif found[0] == mark and depth <= 0:
            yield found.start()
