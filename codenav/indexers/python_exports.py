"""The names that a Python file defines, imports and offers at its top level, read without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from codenav.core.system.syntax import parsed

_TARGETS = r"[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*"
_OWN = re.compile(
    rf"^(?:(?:(?:async[ \t]+)?def|class|cpdef[ \t]+\w+|type)[ \t]+([^\W\d]\w*)|({_TARGETS})[ \t]*(?::[^=\n]*)?=(?!=))",
    re.MULTILINE,
)
_GUARDED = re.compile(r"^(?:if|try|elif|else|except|with|for)\b[^\n]*\n(?:(?:[ \t][^\n]*)?\n)*", re.MULTILINE)
_INNER = re.compile(
    rf"^[ \t]+(?:(?:(?:async[ \t]+)?def|class)[ \t]+([^\W\d]\w*)|({_TARGETS})[ \t]*=(?!=))", re.MULTILINE
)
_AS = re.compile(r" as ([^\W\d]\w*)")
_JOINED = re.compile(r"^__all__[ \t]*(?:\+=|=[ \t]*[^\[(\s])", re.MULTILINE)
_ALL = re.compile(r"^__all__[ \t]*(?::[^=\n]*)?=[ \t]*(?:\[([^\]]*)\]|\(([^)]*)\))[ \t]*(?:#[^\n]*)?$", re.MULTILINE)
_QUOTED = re.compile(r"[\"'](\w+)[\"']")
_MISLEADING = re.compile(r"deprecat|remov|moved|renam", re.IGNORECASE)
"""The names of tables that list what a module no longer has."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that a name may come from: a name in a module (`*` for all of them), or with an empty name the module."""

    module: str
    """Dotted, relative to nothing."""
    name: str = ""


@dataclass(slots=True)
class Exports:
    """The names at the top level of a file."""

    own: set[str] = field(default_factory=set)
    """Names that it defines itself."""
    bound: dict[str, list[Origin]] = field(default_factory=dict)
    """Names that it imports, or takes over by assignment, each with the places that it may come from, best first."""
    lazy: dict[str, list[Origin]] = field(default_factory=dict)
    """Names that it loads on first use."""
    stars: list[str] = field(default_factory=list)
    """Modules whose names it takes over."""
    all: set[str] | None = None
    """The names in `__all__`; None if it has none, or one that only a run can tell."""
    all_of: list[str] = field(default_factory=list)
    """Names of modules, as bound here, whose `__all__` it adds to its own."""
    is_dynamic: bool = False
    """True if only a run can tell `__all__`: a list of some kind, so hardly of what the module imports."""
    unlisted: set[str] = field(default_factory=set)
    """Functions and classes that a partly known `__all__` does not name."""
    again: set[str] = field(default_factory=set)
    """Names that are imported as themselves (`import a as a`): meant for others even without `__all__`."""


def is_facade(text: str) -> bool:
    """True for a module that may offer names that others define."""
    if "import *" in text or "\ndef __getattr__" in text or ("__all__" in text and _JOINED.search(text)):
        return True
    # Of `import a as a` the literal part is looked for, which is fast.
    places = ((found[1], found.start() - len(found[1])) for found in _AS.finditer(text))
    return any(text.startswith(name, at) and text[at - 1 : at] in tuple(" \t\n,(") for name, at in places if at > 0)


def own_names(text: str) -> Exports:
    """The names that a module defines, and its `__all__`, without reading it as Python: ten times as fast."""
    found = Exports(own=set(_names(_OWN.finditer(text))))
    for guarded in _GUARDED.finditer(text):
        found.own.update(_names(_INNER.finditer(guarded.group())))
    listed = _ALL.search(text) if "__all__" in text else None
    if listed:
        found.all = set(_QUOTED.findall(listed[1] or listed[2] or ""))
    return found


def _names(matches: Iterable[re.Match[str]]) -> Iterator[str]:
    for match in matches:
        yield from (match[1] or match[2]).replace(",", " ").split()


def read_exports(text: str, module: str, *, is_package: bool) -> Exports | None:
    """All that a file offers; None if it is not Python."""
    tree = parsed(text)
    if tree is None:
        return None
    reader = _Reader(module, is_package)
    reader.take(tree.body)
    return reader.finished()


class _Reader:
    """Reads the statements at the top level of one module."""

    def __init__(self, module: str, is_package: bool) -> None:
        self._package = module if is_package else module.rpartition(".")[0]
        self._module = module
        self._found = Exports()
        self._typed: dict[str, list[Origin]] = {}
        self._typed_stars: list[str] = []
        self._tables: dict[str, list[Origin]] = {}
        self._lists: dict[str, set[str]] = {}
        self._defined: set[str] = set()
        self._is_lazy = False

    def finished(self) -> Exports:
        """The names that were found."""
        found = self._found
        if self._is_lazy:
            for name, origins in [*self._typed.items(), *self._tables.items()]:
                found.lazy.setdefault(name, []).extend(origins)
            found.stars += self._typed_stars
        if found.is_dynamic:
            found.unlisted = self._defined - found.all if found.all else set()
            found.all = None
        return found

    def take(self, body: Iterable[ast.stmt], *, other: bool = False) -> None:
        """Read statements; `other`: those of a branch that runs instead of one that was read."""
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._imports(node, other=other)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._is_lazy |= node.name == "__getattr__"
                self._own(node.name, other=other)
                self._defined.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                self._assigns(node, other=other)
            elif isinstance(node, ast.If):
                self._branches(node, other=other)
            elif isinstance(node, ast.Try):
                self.take([*node.body, *node.orelse], other=other)
                for handler in node.handlers:
                    self.take(handler.body, other=True)
                self.take(node.finalbody, other=other)
            elif isinstance(node, ast.With | ast.For | ast.While):
                self.take(node.body, other=other)
            elif isinstance(node, ast.Expr):
                self._extends(node.value)
            elif isinstance(node, ast.Delete):
                for target in node.targets:
                    self._found.own.discard(_dotted(target))
                    self._found.bound.pop(_dotted(target), None)

    def _branches(self, node: ast.If, *, other: bool) -> None:
        if any(getattr(part, "id", getattr(part, "attr", "")) == "TYPE_CHECKING" for part in ast.walk(node.test)):
            inner = _Reader(self._module, self._package == self._module)
            inner.take(node.body)
            self._typed.update(inner._found.bound)
            self._typed_stars += inner._found.stars
            self.take(node.orelse, other=other)
            return
        self.take(node.body, other=other)
        self.take(node.orelse, other=True)

    def _own(self, name: str, *, other: bool) -> None:
        if other and name in self._found.bound:
            return
        self._found.own.add(name)
        if not other:
            self._found.bound.pop(name, None)

    def _bind(self, name: str, origin: Origin, *, other: bool) -> None:
        if other:
            self._found.bound.setdefault(name, []).append(origin)
            return
        self._found.bound[name] = [origin]
        self._found.own.discard(name)

    def _imports(self, node: ast.Import | ast.ImportFrom, *, other: bool) -> None:
        if isinstance(node, ast.Import):
            for item in node.names:
                top = item.name.partition(".")[0]
                self._bind(item.asname or top, Origin(item.name if item.asname else top), other=other)
            return
        origin = self._absolute(node.module or "", node.level)
        if origin is None:
            return
        for item in node.names:
            if item.name == "*":
                self._found.stars.append(origin)
                continue
            self._bind(item.asname or item.name, Origin(origin, item.name), other=other)
            if item.asname == item.name:
                self._found.again.add(item.name)

    def _absolute(self, module: str, level: int) -> str | None:
        if not level:
            return module
        parts = self._package.split(".") if self._package else []
        if level - 1 > len(parts) or not parts:
            return None
        return ".".join([*parts[: len(parts) - level + 1], *filter(None, [module])])

    def _assigns(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, *, other: bool) -> None:
        value = node.value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Tuple) and _called(value) == "attach":
                self._attach(value)
            for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                if not isinstance(part, ast.Name):
                    self._is_lazy |= ast.unparse(part) == "sys.modules[__name__]"
                elif part.id == "__all__":
                    self._all(value, add=isinstance(node, ast.AugAssign))
                elif value is not None and not isinstance(node, ast.AugAssign):
                    self._assigned(part.id, value, other=other)

    def _assigned(self, name: str, value: ast.expr, *, other: bool) -> None:
        if isinstance(value, ast.List | ast.Tuple):
            self._lists[name] = set(_texts(value.elts))
        elif isinstance(value, ast.Dict) and not _MISLEADING.search(name):
            self._table(value)
        self._own(name, other=other)
        dotted = _dotted(value)
        if dotted and dotted != name:
            home, _, last = dotted.rpartition(".")
            self._found.bound.setdefault(name, []).append(Origin(f"={home}" if home else "=", last))

    def _all(self, value: ast.expr | None, *, add: bool) -> None:
        if not add:
            self._found.all, self._found.all_of = None, []
        names = self._found.all if self._found.all is not None else set()
        self._found.all = names
        for part in _parts(value):
            if isinstance(part, ast.Constant):
                names.update(_texts([part]))
            elif isinstance(part, ast.Attribute) and part.attr == "__all__":
                self._found.all_of.append(_dotted(part.value))
            elif isinstance(part, ast.Name) and part.id in self._lists:
                names |= self._lists[part.id]
            else:
                self._found.is_dynamic = True

    def _extends(self, call: ast.expr) -> None:
        """`__all__.extend(…)` and `__all__.append(…)`."""
        method = call.func if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and isinstance(method, ast.Attribute) and _dotted(method.value) == "__all__":
            for argument in call.args[:1] if method.attr in ("extend", "append") else ():
                self._all(argument, add=True)

    def _attach(self, call: ast.expr | None) -> None:
        """`lazy_loader.attach(__name__, submod_attrs={"module": ["name"]})`."""
        self._is_lazy = True
        if isinstance(call, ast.Call):
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                if isinstance(argument, ast.Dict):
                    self._table(argument)

    def _table(self, table: ast.Dict) -> None:
        """A table with `{"name": "module"}`, `{"name": (package, ".module")}` or `{"module": ["name"]}`."""
        for key, value in zip(table.keys, table.values, strict=True):
            texts = list(_texts(ast.walk(value)))
            for written in _texts([key] if key else []):
                if isinstance(value, ast.List):
                    for name in texts:
                        self._tables.setdefault(name, []).extend(self._modules(written, name))
                    continue
                origins = self._tables.setdefault(written, [])
                for text in texts[-2:]:
                    module, _, name = text.partition(":")
                    origins += self._modules(module, name or written)
                if len(texts) == 2:
                    origins += self._modules(texts[0], texts[1])

    def _modules(self, written: str, name: str) -> list[Origin]:
        bare = written.lstrip(".")
        if written == bare:
            return [Origin(self._absolute(bare, 1) or bare, name), Origin(bare, name)]
        origin = self._absolute(bare, len(written) - len(bare))
        return [Origin(origin, name)] if origin else []


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The texts among constants."""
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _called(node: ast.expr | None) -> str:
    return _dotted(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _dotted(node: ast.AST) -> str:
    """`a.b` for a name and attributes of it; empty for all else."""
    if isinstance(node, ast.Name):
        return node.id
    inner = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{inner}.{node.attr}" if inner and isinstance(node, ast.Attribute) else ""


def _parts(value: ast.expr | None) -> Iterator[ast.expr]:
    """The parts of a list of names that is put together from several."""
    if isinstance(value, ast.BinOp):
        yield from _parts(value.left)
        yield from _parts(value.right)
    elif isinstance(value, ast.List | ast.Tuple | ast.Set):
        for part in value.elts:
            yield from _parts(part.value) if isinstance(part, ast.Starred) else [part]
    elif isinstance(value, ast.Call) and _called(value) in ("list", "tuple", "sorted", "set", "copy"):
        inner = value.func.value if isinstance(value.func, ast.Attribute) else value.args[0] if value.args else None
        yield from _parts(inner)
    elif value is not None:
        yield value
