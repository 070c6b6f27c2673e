"""How a package shows its own use: calls in the code of its README and of docstrings, and what is said beside them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from codenav.signatures.callables import CallableSignature

PROSE = 240
"""Characters of text before a piece of code that are read as being about it."""
MOST_SAID = 6
"""Uses of a callable whose prose is kept."""
_FENCED = re.compile(r"^[ \t]*(```+)[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(
    r"(?:::[ \t]*|\.\. (?:code|code-block|sourcecode)::[ \t]*(?:python|pycon|py|python3)?[ \t]*)\n"
    r"(?:[ \t]+:\w+:[^\n]*\n)*[ \t]*\n((?:(?:[ \t]{2,}[^\n]*)?\n)+)"
)
_PROMPTED = re.compile(r"(?:^[ \t]*(?:>>>|\.\.\.)(?: [^\n]*)?$\n?(?:^(?![ \t]*>>>)[ \t]*\S[^\n]*\n)*)+", re.MULTILINE)
_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.|In \[\d+\]:) ?")
_PYTHON = ("", "python", "py", "pycon", "python3", "ipython")
_LITERALS: tuple[tuple[type, str], ...] = (
    (ast.List, "list"),
    (ast.Tuple, "tuple"),
    (ast.Dict, "dict"),
    (ast.Set, "set"),
)


@dataclass(frozen=True)
class Shown:
    """One use of a name."""

    name: str
    on: str
    """What the call was made on: a module's or class's name, or the name of the call that made it; perhaps empty."""
    called: bool
    keywords: Mapping[str, str] = field(default_factory=dict)
    """Type of the literal; empty where it is none."""
    arguments: tuple[str, ...] = ()
    """The same of what has no name."""
    prose: str = ""
    makers: tuple[tuple[str, str], ...] = ()
    """What other calls made its arguments: the line that imports them, and the dotted names."""
    made_by: tuple[str, ...] = ()
    """The last names of all calls that made its arguments."""


class Examples:
    """All uses that some texts show."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._by_name: dict[str, list[Shown]] = {}
        self._modules: set[str] = set()
        self._read: set[str] = set()
        self.add(texts)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def add(self, texts: Iterable[str]) -> None:
        """Read more; the same text once."""
        for text in texts:
            if text in self._read:
                continue
            self._read.add(text)
            reader = None
            for code, prose in pieces(text):
                reader = _Reader(code, prose, reader)
                self._modules |= reader.modules
                for one in reader.shown():
                    if not one.on and hasattr(builtins, one.name):
                        continue
                    self._by_name.setdefault(one.name, []).append(one)

    def of(self, name: str, owner: str = "") -> list[Shown]:
        """The uses of a name: of a member of `owner`, or of what a module holds."""
        found = self._by_name.get(name, [])
        if owner:
            return [one for one in found if one.on == owner] or [one for one in found if one.on and not self._of(one)]
        return [one for one in found if not one.on or self._of(one)]

    def _of(self, one: Shown) -> bool:
        """Whether it was taken from a module."""
        return one.on in self._modules or (one.on.islower() and one.on not in self._by_name)

    def uses(self) -> Iterable[list[Shown]]:
        """The uses of each name."""
        return self._by_name.values()

    def makers_of_arguments(self, name: str = "") -> list[tuple[str, str]]:
        """What makes the arguments of the calls of a name, or of all: `Image.open`, imported from another package."""
        uses = self._by_name.get(name, []) if name else [one for many in self._by_name.values() for one in many]
        return list(dict.fromkeys(maker for one in uses for maker in one.makers))

    def arguments_made_by(self, name: str) -> set[str]:
        """Names of calls that make the arguments of the calls of a name."""
        return {maker for one in self._by_name.get(name, []) for maker in one.made_by}

    @property
    def names(self) -> list[str]:
        """All that are used, most often first."""
        return sorted(self._by_name, key=lambda name: -len(self._by_name[name]))

    def any_of(self, name: str) -> list[Shown]:
        """The uses of a name on whatever object."""
        return [one for one in self._by_name.get(name, []) if one.on]

    def makers(self, name: str) -> list[str]:
        """What makes the objects that a name is called on, most used first."""
        found: dict[str, int] = {}
        for one in self._by_name.get(name, []):
            if one.on:
                found[one.on] = found.get(one.on, 0) + 1
        return sorted(found, key=lambda on: -found[on])


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Pieces of Python in a Markdown or reST text or a docstring, and the prose before each."""
    taken: list[tuple[int, int]] = []
    for pattern in (_FENCED, _INDENTED, _PROMPTED):
        for match in pattern.finditer(text):
            if any(begin < match.end() and match.start() < end for begin, end in taken):
                continue
            taken.append(match.span())
            if pattern is _FENCED and match[2].lower() not in _PYTHON:
                continue
            code = match[3] if pattern is _FENCED else match[1] if pattern is _INDENTED else match.group()
            yield _without_prompts(code), _prose(text[: match.start()])


def _without_prompts(code: str) -> str:
    lines = code.expandtabs().splitlines()
    if any(_PROMPT.match(line) for line in lines):
        return "\n".join(_PROMPT.sub("", line) for line in lines if _PROMPT.match(line))
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)


def _prose(before: str) -> str:
    """The last paragraph, if it is none of code, and what heads it."""
    paragraphs = [part.strip() for part in re.split(r"\n[ \t]*\n", before[-4 * PROSE :]) if part.strip()]
    told = paragraphs[-1] if paragraphs else ""
    return "" if ">>>" in told or told.endswith("```") else told[-PROSE:]


class _Reader:
    """Follows through one piece of code what is called on what; names that the piece before has bound are known."""

    def __init__(self, code: str, prose: str, before: _Reader | None = None) -> None:
        self._code, self._prose = code, prose
        self._made: dict[str, str] = {**before._made} if before else {}
        self._types: dict[str, str] = {**before._types} if before else {}
        self._calls: dict[str, str] = {**before._calls} if before else {}
        self._makers: dict[str, tuple[str, str]] = {**before._makers} if before else {}
        self._lines: dict[str, str] = {**before._lines} if before else {}
        self.modules: set[str] = set()
        self._trees = list(_statements(code))
        for tree in self._trees:
            for node in ast.walk(tree):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    self._import(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """The names that an import binds."""
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            bound = alias.asname or alias.name
            if isinstance(node, ast.Import):
                self.modules.add(bound.rpartition(".")[2])
            elif alias.name.islower():
                self.modules.add(bound)
            if isinstance(node, ast.Import) or (module and not node.level):
                head = f"from {module} import" if module else "import"
                self._lines[bound] = f"{head} {alias.name}" + (f" as {alias.asname}" if alias.asname else "")

    def shown(self) -> Iterator[Shown]:
        """The uses, in their order."""
        for tree in self._trees:
            comment = self._comment(tree)
            called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and (name := _last(node.func)):
                    keywords = {one.arg: self._type(one.value) for one in node.keywords if one.arg}
                    arguments = tuple(map(self._type, node.args))
                    given = [*node.args, *(one.value for one in node.keywords)]
                    makers = tuple(filter(None, map(self._maker, given)))
                    made_by = tuple(filter(None, map(self._made_by, given)))
                    said = comment or self._prose
                    yield Shown(name, self._on(node.func), True, keywords, arguments, said, makers, made_by)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in called:
                    yield Shown(node.attr, self._on(node), False, prose=comment or self._prose)
            for node in ast.walk(tree):
                self._keep(node)

    def _keep(self, node: ast.AST) -> None:
        """What a name is bound to."""
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            pairs = [(node.optional_vars, node.context_expr)]
        else:
            return
        for target, value in pairs:
            if isinstance(target, ast.Name):
                self._made[target.id] = _last(value.func) if isinstance(value, ast.Call) else _last(value)
                self._types[target.id] = _type(value)
                self._calls[target.id] = _last(value.func) if isinstance(value, ast.Call) else ""
                if maker := self._maker(value):
                    self._makers[target.id] = maker

    def _maker(self, node: ast.expr) -> tuple[str, str] | None:
        """Import line and dotted name of what has made a value: a call of what was imported, or a name bound to it."""
        if isinstance(node, ast.Name):
            return self._makers.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        dotted = ast.unparse(node.func)
        line = self._lines.get(dotted.partition(".")[0])
        return (line, dotted) if line and all(map(str.isidentifier, dotted.split("."))) else None

    def _type(self, node: ast.expr) -> str:
        """Of a literal, or of one that a name is bound to."""
        return self._types.get(node.id, "") if isinstance(node, ast.Name) else _type(node)

    def _made_by(self, node: ast.expr) -> str:
        """The last name of the call that has made a value; empty where none has."""
        if isinstance(node, ast.Name):
            return self._calls.get(node.id, "")
        return _last(node.func) if isinstance(node, ast.Call) else ""

    def _on(self, func: ast.expr) -> str:
        if not isinstance(func, ast.Attribute):
            return ""
        value = func.value
        if isinstance(value, ast.Call):
            return _last(value.func)
        if isinstance(value, ast.Name):
            return self._made.get(value.id, value.id)
        return _last(value)

    def _comment(self, tree: ast.stmt) -> str:
        """What is said on its line or right above it."""
        lines = self._code.splitlines()
        at = getattr(tree, "codenav_line", tree.lineno) - 1
        found = []
        for line in lines[max(0, at - 1) : at + 1]:
            _, mark, said = line.partition("#")
            if mark and (line.lstrip().startswith("#") or line is lines[min(at, len(lines) - 1)]):
                found.append(said.strip())
        return " ".join(found)


def _statements(code: str) -> Iterator[ast.stmt]:
    """Those that can be parsed: what stands between them may be output."""
    try:
        yield from ast.parse(code).body
        return
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    lines = code.splitlines()
    at = 0
    while at < len(lines):
        for end in range(at + 1, min(len(lines), at + 12) + 1):
            try:
                body = ast.parse("\n".join(lines[at:end])).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            for tree in body:
                tree.codenav_line = at + tree.lineno  # type: ignore[attr-defined]
                yield tree
            at = end - 1
            break
        at += 1


def _last(node: ast.expr) -> str:
    """The last name of what is called."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _type(node: ast.expr) -> str:
    """Of a literal; empty for anything else."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    return next((name for kind, name in _LITERALS if isinstance(node, kind)), "")


def illustrated(item: CallableSignature, examples: Examples) -> CallableSignature:
    """The callable with what examples show of it: how often, what is said beside, and what its parameters are given."""
    owner = item.owner if item.kind in ("method", "property") else ""
    found = examples.of(item.name, owner) if item.kind not in ("member", "value") else examples.any_of(item.name)
    if not found or item.kind == "object":
        return item
    given: dict[str, dict[str, None]] = {}
    for one in found:
        places = [one for one in item.parameters if not one.kind.startswith(("VAR_", "KEYWORD"))]
        told = [*((place.name, type_) for place, type_ in zip(places, one.arguments, strict=False))]
        for name, type_ in [*told, *one.keywords.items()]:
            if type_:
                given.setdefault(name, {})[type_] = None
    parameters = tuple(
        replace(parameter, type=parameter.type or " | ".join(given[parameter.name]), shown=True)
        if parameter.name in given
        else parameter
        for parameter in item.parameters
    )
    said = " ".join(dict.fromkeys(one.prose for one in found[:MOST_SAID] if one.prose))
    most = max(len(uses) for uses in examples.uses())
    return replace(item, parameters=parameters, shown=min(1.0, len(found) / most), said=said)
