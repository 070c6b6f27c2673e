"""Names that are parts of a block: fields of a class, keys of an object, names that one statement binds with others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from inspect import cleandoc

from codenav.core.blocks import BlockKind, CodeBlock, Instance, LineSpan
from codenav.core.protocols import Index
from codenav.core.system.syntax import statements
from codenav.indexers.draft import names_to_import
from codenav.indexers.place import Place
from codenav.navigation.classes import Classes
from codenav.navigation.modules import Module, Modules, Thing
from codenav.navigation.names import dotted_path, module_of, search_all
from codenav.retrieval.query import tree

_STATEMENTS = (BlockKind.ASSIGNMENT, BlockKind.CONDITIONAL)
_INSTANCE = re.compile(r"[\w.]+\s*(?::[^=\n]+)?=\s*([^\W\d][\w.]*)\(")
_ELIDED = re.compile(r"\.\.\.\s*$")
_MEMBER = (
    r"(?:^|[{{}},;])[ \t\n]*(?P<all>(?:(?:[\w@<>\[\]*&.?$' ]|::)+[ *&])?[#$]?{name}\b"
    r"(?=\s*[?!]?\s*[:=;,}}(]|[ \t]+[\w*\[\]]|\s*$))"
)
"""A member in another language than Python: `pub size: u8`, `int size;`, `Size int`, `size: 3`, `size,`."""
_COMMENT = re.compile(r"^\s*(?://|/?\*|#).*$", re.MULTILINE)


def of_class(index: Index, modules: Modules, owner: CodeBlock, name: str) -> Sequence[CodeBlock]:
    """The method or field of a class, its own or of the nearest base that has one; the key of an object."""
    for around in Classes(modules).order(owner) if owner.kind is BlockKind.CLASS else [owner]:
        inherited = modules.of(around).definitions.get(f"{around.qualname}.{name}")
        if inherited:
            return inherited
        if part := _part(index, around, name):
            return [part]
    return ()


def instance_of(index: Index, block: CodeBlock) -> Instance:
    """The class that a module-level name is an instance of, and its public methods, inherited ones included."""
    called = _INSTANCE.match(block.text) if block.kind is BlockKind.ASSIGNMENT and block.language == "python" else None
    if called is None:
        return None, []
    modules = Modules(index)
    thing: Thing | None = modules.of(block)
    for name in called[1].split("."):
        thing = modules.look_up(thing, name) if isinstance(thing, Module) else None
    if not isinstance(thing, Sequence) or thing[0].kind is not BlockKind.CLASS:
        return None, []
    return thing[0], list(Classes(modules).public_methods(thing[0]).values())


def bound(index: Index, dotted: str) -> Iterator[CodeBlock]:
    """The statements of modules that bind a name, which is not that of their block: `a = b = 1`, `if x: b = 1`."""
    name = dotted.rpartition(".")[2]
    for block in search_all(index, tree.Words("text", (name,))):
        module = dotted_path(block.path)
        fits = dotted in (name, f"exports.{name}") or f".{module}.{name}".endswith(f".{dotted}")
        exports = block.name == "exports" and block.language != "python"
        if fits and block.kind in _STATEMENTS and (exports or block.language == "python") and "." not in block.qualname:
            part = _part(index, block, name)
            if part:
                yield part


def _part(index: Index, block: CodeBlock, name: str) -> CodeBlock | None:
    """The part of a block that defines a name, as a block with the id of the whole."""
    inside = block.kind is BlockKind.CLASS or block.language != "python"
    qualname = f"{block.qualname}.{name}" if inside else name
    public = f"{block.public_name}.{name}" if inside and block.public_name else ""
    part = replace(
        block, kind=BlockKind.ASSIGNMENT, name=name, qualname=qualname, docstring="", calls=(), public_name=public
    )
    if block.language != "python":
        found = _written(block.text, name)
        return replace(part, text=found, signature=found.partition("\n")[0]) if found else None
    place = Place(block.source, block.path, module_of(block))
    body = statements(block.text)
    if body and block.kind is BlockKind.CLASS and isinstance(body[0], ast.ClassDef):
        body = body[0].body
    for statement, after in _statements(body):
        if name not in _bound(statement):
            continue
        text = ast.get_source_segment(block.text, statement) or ""
        docstring = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        last = after if isinstance(docstring, str) and docstring and after else statement
        lines = block.text.split("\n")[statement.lineno - 1 : last.end_lineno]
        first = _line(index, block, statement.lineno - 1)
        return replace(
            part,
            text=cleandoc("\n".join(lines)),
            signature=text.partition("\n")[0],
            docstring=cleandoc(docstring) if isinstance(docstring, str) else "",
            lines=LineSpan(first, first + len(lines) - 1),
            import_line=block.import_line if inside else names_to_import(place, name, name)[1],
        )
    return None


def _statements(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt | None]]:
    """The statements of a body and of the conditions in it, each with the one after it."""
    for number, statement in enumerate(body):
        yield statement, body[number + 1] if number + 1 < len(body) else None
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _statements(handler.body)


def _bound(statement: ast.stmt) -> set[str]:
    targets: Iterable[ast.expr | None] = ()
    match statement:
        case ast.Assign():
            targets = statement.targets
        case ast.AnnAssign() | ast.For():
            targets = [statement.target]
        case ast.With():
            targets = [item.optional_vars for item in statement.items]
    return {node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)}


def _line(index: Index, block: CodeBlock, row: int) -> int:
    """The line in the file of a row of a block's text, which leaves out the bodies of the definitions inside."""
    in_file = search_all(index, tree.Value("file_path", block.path), tree.Lines(block.lines.start, block.lines.end))
    inner = [item for item in in_file if item.path == block.path and item.source == block.source]
    inner = sorted((item for item in inner if item.id != block.id), key=lambda item: item.lines.start)
    line = block.lines.start
    for text in block.text.split("\n")[:row]:
        around = next((item for item in inner if item.lines.start <= line <= item.lines.end), None)
        line = around.lines.end + 1 if around and _ELIDED.search(text) else line + 1
    return line


def _written(text: str, name: str) -> str:
    """The member of a type or an object with that name, as it is written; empty if there is none."""
    plain = _COMMENT.sub(lambda found: " " * len(found.group()), text)
    head = plain.find("{") + 1
    found = re.compile(_MEMBER.format(name=re.escape(name)), re.MULTILINE).search(plain, max(head - 1, 0))
    if found is None:
        return ""
    end, depth = found.end(), 0
    while end < len(plain) and not (depth <= 0 and plain[end] in ",;\n}"):
        depth += (plain[end] in "([{") - (plain[end] in ")]}")
        end += 1
    return text[found.start("all") : end].strip()
