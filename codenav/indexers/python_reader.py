"""Drafts of the blocks of a Python file, read without a syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from codenav.core.blocks import BlockKind
from codenav.indexers.draft import Calls, Draft, Elision
from codenav.indexers.python_scan import Scan, balance
from codenav.indexers.python_text import one_line

DEPTH = 100
"""The deepest nesting of definitions. CPython refuses deeper indentation (`MAXINDENT` in Parser/tokenizer)."""

LONG_ASSIGNMENT = 1_000
"""Characters. A longer assignment in a class is a separate block, and `NAME = ...` in the block of the class."""

_CLAUSES = {"else", "elif", "except", "finally"}
_CONDITIONALS = {"if", "for", "while", "try", "with", "match"}
_DEFINITIONS = {"def", "class", "@"}
_IMPORTS = {"import", "from"}
_COMPOUND = _CLAUSES | _CONDITIONALS | _DEFINITIONS
_WORD = re.compile(r"@|\w+")
_ASYNC = re.compile(r"async +(\w+)")
_MATCH = re.compile(r"match\b[^=\n]*: *$", re.MULTILINE)
_LAMBDA = re.compile(r"\blambda\b")
_SEPARATOR = re.compile(r"[()\[\]{};]")
_TYPE_ALIAS = re.compile(r"type +(?=[^\W\d]\w* *[\[=])")


@dataclass(slots=True)
class _Scope:
    """A definition as the scope of those inside it."""

    draft: Draft
    names: tuple[str, ...]
    is_class: bool
    importable: str
    body: int
    """Offset after the colon of its header."""


class Reader:
    """A reading of one file. `strict`: brackets and strings that stay open are an error, see `Scan`."""

    def __init__(self, text: str, *, path: str, module: str, strict: bool = True) -> None:
        self._scan = Scan(text, strict=strict)
        self._text, self._masked = text, self._scan.masked
        self._module_name = module or path.rpartition("/")[2].rpartition(".")[0]
        self._conditionals: list[Draft] = []
        self._long: list[_Scope] = []
        self.drafts: list[Draft] = []
        """In any order, and without rows."""
        self.definitions: dict[int, Draft] = {}
        """The drafts of definitions by the offset of their `def`, `async` or `class`."""
        self._module()
        self.calls: Calls = self._scan.calls(self._definitions())

    def _statements(self) -> Iterator[tuple[str, int, int]]:
        """First word, start and end of each module-level statement; a compound one includes all its clauses."""
        waiting: tuple[str, int, int] | None = None
        for begin, end in self._scan.statements():
            word = self._first_word(begin)
            if word in _CLAUSES and waiting:
                waiting = (waiting[0], waiting[1], end)
                continue
            if waiting:
                yield waiting
            waiting = (word, begin, end) if word in _CONDITIONALS else None
            if not waiting and (word in _DEFINITIONS or ";" not in self._masked[begin:end]):
                yield word, begin, end
            elif not waiting:
                yield from self._parts(begin, end)
        if waiting:
            yield waiting

    def _parts(self, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
        """The statements on one line, `a = 1; b = 2`."""
        depth = 0
        for mark in _SEPARATOR.finditer(self._masked, begin, end):
            depth += {"(": 1, "[": 1, "{": 1, ";": 0}.get(mark.group(), -1)
            if mark.group() == ";" and not depth:
                yield self._first_word(begin), begin, begin + len(self._masked[begin : mark.start()].rstrip())
                begin = mark.end() + len(self._masked[mark.end() : end]) - len(self._masked[mark.end() : end].lstrip())
        if begin < end:
            yield self._first_word(begin), begin, end

    def _first_word(self, begin: int) -> str:
        found = _WORD.match(self._masked, begin)
        word = found.group() if found else ""
        if word == "async":
            following = _ASYNC.match(self._masked, begin)
            return following.group(1) if following else word
        if word == "match" and not _MATCH.match(self._masked, begin):
            return ""
        return word

    def _module(self) -> None:
        run: list[tuple[int, int]] = []
        run_kind = ""
        first = True
        assigned: Draft | None = None
        for word, begin, end in self._statements():
            if word == "pass" or not (word or self._masked[begin:end].strip()):
                continue
            kind = "import" if word in _IMPORTS else "" if word in _DEFINITIONS or word in _CONDITIONALS else "plain"
            label = self._assignment(begin, end) if kind == "plain" else None
            kind = "assignment" if label else kind
            if run and kind != run_kind:
                self._run(run, run_kind)
                run = []
            string = self._scan.string(begin, end) if (first or assigned) and kind == "plain" else None
            docstring = string[0] if string else ""
            last, assigned = assigned, None
            if docstring and last:
                last.docstring, last.end = docstring, end
            elif docstring.strip():
                self._module_docstring(begin, end, docstring)
            elif label:
                assigned = label
                self.drafts.append(label)
            elif kind:
                run.append((begin, end))
                run_kind = kind
            elif word in _CONDITIONALS:
                self._conditional(begin, end)
            first = False
        if run:
            self._run(run, run_kind)

    def _module_docstring(self, begin: int, end: int, docstring: str) -> None:
        name = self._module_name
        title = docstring.strip().partition("\n")[0][:200]
        self.drafts.append(
            Draft(BlockKind.DOCUMENT, name.rpartition(".")[2], name, begin, end, (0, 0), title, docstring)
        )

    def _conditional(self, begin: int, end: int) -> None:
        header = one_line(self._text[begin : self._scan.header(begin)], 200).rstrip(": ")
        draft = Draft(BlockKind.CONDITIONAL, header, header, begin, end, (0, 0), header)
        self.drafts.append(draft)
        self._conditionals.append(draft)

    def _run(self, spans: list[tuple[int, int]], run_kind: str) -> None:
        kind, name = BlockKind.ASSIGNMENT, "statements"
        if run_kind == "import":
            kind, name = BlockKind.IMPORT, "imports"
        signature = one_line("; ".join(one_line(self._text[begin:end], 100) for begin, end in spans[:20]), 300)
        self.drafts.append(Draft(kind, name, name, spans[0][0], spans[-1][1], (0, 0), signature))

    def _assignment(self, begin: int, end: int, scope: _Scope | None = None) -> Draft | None:
        alias = _TYPE_ALIAS.match(self._masked, begin)
        target = alias.end() if alias else begin
        found = self._scan.assigned(target, end)
        if found is None:
            return None
        arrow = _LAMBDA.search(self._masked, target, found[0])
        if arrow and not balance(self._masked[target : arrow.start()]):
            return None
        label = one_line(self._text[target : found[0]], 200).strip()
        if alias:
            label = label.partition("[")[0]
        has_value = found[1] >= 0
        if scope is not None and has_value:
            value = end - len(self._masked[found[1] : end].lstrip(" "))
            scope.draft.elided.append(Elision(value, end))
        return Draft(
            BlockKind.ASSIGNMENT,
            label.rpartition(".")[2] if label.replace(".", "").isidentifier() else label,
            ".".join((*(scope.names if scope else ()), label)),
            begin,
            end,
            (0, 0),
            one_line(self._text[begin : min(end, begin + 800)], 200),
            importable=label if has_value and scope is None else "",
        )

    def _definitions(self) -> set[int]:
        """Add the drafts of all definitions, and return the offsets of their names."""
        scan, text = self._scan, self._text
        guarded = scan.guarded()
        decorators = list(scan.decorators())
        conditional_starts = [draft.start for draft in self._conditionals]
        names: set[int] = set()
        above: list[_Scope] = []
        at_decorator = 0
        for begin, width, name_end, is_class, name in scan.definitions():
            names.add(name_end - len(name))
            start = begin
            if at_decorator < len(decorators) and decorators[at_decorator][0] < begin:
                pending = []
                while at_decorator < len(decorators) and decorators[at_decorator][0] < begin:
                    pending.append(decorators[at_decorator])
                    at_decorator += 1
                start = self._decorated_from(pending, begin, width)
            while above and above[-1].draft.end <= begin:
                above.pop()
            parent = above[-1] if above else None
            colon = scan.header(name_end)
            end = scan.dedent(colon, width)
            path = (*parent.names, name) if parent else (name,)
            if parent is None:
                importable = "" if any(low <= begin < high for low, high in guarded) else name
            else:
                importable = parent.importable if parent.is_class else ""
            string = scan.string(colon, end)
            draft = Draft(
                kind=BlockKind.CLASS
                if is_class
                else BlockKind.METHOD
                if parent and parent.is_class
                else BlockKind.FUNCTION,
                name=name,
                qualname=".".join(path),
                start=start,
                end=end,
                rows=(0, 0),
                signature=one_line(text[begin:colon].rstrip().removesuffix(":").rstrip()),
                docstring=string[0] if string else "",
                importable=importable,
            )
            if colon < end:
                if parent is None:
                    place = bisect_right(conditional_starts, begin) - 1
                    if place >= 0 and begin < self._conditionals[place].end:
                        self._conditionals[place].elided.append(Elision(colon, end))
                elif parent.is_class:
                    parent.draft.elided.append(Elision(colon, end))
            if len(path) <= DEPTH:
                self.drafts.append(draft)
            self.definitions[begin] = draft
            scope = _Scope(draft, path, is_class, importable, colon)
            above.append(scope)
            if is_class and end - colon > LONG_ASSIGNMENT:
                self._long.append(scope)
        for scope in self._long:
            self._long_assignments(scope)
        return names

    def _decorated_from(self, pending: list[tuple[int, int]], begin: int, width: int) -> int:
        """The start of a definition's decorators."""
        start = begin
        for at, indented in reversed(pending):
            if indented != width:
                break
            between = self._masked[at:start].rstrip(" \n")
            # With a bracket that was opened before, it is an operator: within the arguments of a decorator, perhaps.
            if balance(between):
                continue
            if self._scan.dedent(at, width) != at + len(between):
                break
            start = at
        return start

    def _long_assignments(self, scope: _Scope) -> None:
        """Add the assignments in a class whose text is too long for the block of the class."""
        position = scope.body
        gaps = []
        for part in sorted(scope.draft.elided, key=lambda part: part.start):
            gaps.append((position, part.start))
            position = part.end
        gaps.append((position, scope.draft.end))
        while gaps:
            begin, end = gaps.pop()
            if end - begin <= LONG_ASSIGNMENT:
                continue
            for first, last in self._scan.statements_in(begin, end):
                word = self._first_word(first)
                if last - first <= LONG_ASSIGNMENT or word in _DEFINITIONS:
                    continue
                if word in _COMPOUND:
                    gaps.append((self._scan.header(first), last))
                    continue
                draft = self._assignment(first, last, scope)
                if draft:
                    self.drafts.append(draft)
