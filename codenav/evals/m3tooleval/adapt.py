"""The adapted code base: of each domain's module the tools and the statements that they need, in a package `m3eval`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.core.errors import UsageError
from codenav.evals.m3tooleval.upstream import ANOTHER, Domain, Tool

PACKAGE = "m3eval"
FILES: Mapping[str, str] = {"web_browsing": "browser", "travel_itinerary_planning": "travel_planner"}
"""Names of our files by upstream's modules, where they are not the same."""
BROWSER, PAGES = "WebBrowser", "PAGES"
DEFAULTS: Mapping[str, str] = {"pages": "None", "default_page": "'/'"}
"""Defaults given to the constructor of the browser: in the paper it is made without arguments."""
LEFT_OUT = ("metadata.json", "TASKS", "Task", "ToolType", "METADATA")
"""Upstream's names around the expected results. None of them may be left in the code base."""

_TRACER = Path(__file__).with_name("tracer.py")
_INIT = f"""from {PACKAGE}._tracer import trace

trace(__name__, __path__)
"""


@dataclass(frozen=True)
class Statement:
    """A top-level statement of a module."""

    node: ast.stmt
    binds: frozenset[str]
    """Names that it binds in the module."""
    needs: frozenset[str]
    """Names of the module that it, or code inside it, reads."""


def file_of(domain: Domain) -> str:
    """The path of a domain's file in the code base, such as `m3eval/browser.py`."""
    return f"{PACKAGE}/{FILES.get(domain.name, domain.name)}.py"


def module_of(domain: Domain) -> str:
    """The import name of a domain's file."""
    return file_of(domain).removesuffix(".py").replace("/", ".")


def code_base(domains: Sequence[Domain], *, docstrings: bool) -> dict[str, bytes]:
    """The files of the adapted code base, by relative path.

    With `docstrings` upstream's descriptions become docstrings of functions and methods, which have none.

    Raises:
        UsageError: a module is not what the adapter was written for.
    """
    files: dict[str, bytes] = {
        # The tracing is no part of the code base that an agent searches.
        ".gitignore": f"{PACKAGE}/__init__.py\n{PACKAGE}/_tracer.py\n".encode(),
        f"{PACKAGE}/__init__.py": _INIT.encode(),
        f"{PACKAGE}/_tracer.py": _TRACER.read_bytes(),
    }
    for domain in domains:
        source = domain.file.read_text(encoding="utf-8")
        descriptions = {tool.name: tool.description for tool in domain.tools} if docstrings else {}
        try:
            text = tools_of(source, domain.tools, descriptions)
        except (SyntaxError, LookupError) as error:
            raise UsageError(f"{domain.file} is not as expected: {error}", hint=ANOTHER) from None
        files[file_of(domain)] = text.encode()
        for data in domain.file.parent.glob("*.jsonl"):
            if data.name in text:
                files[f"{PACKAGE}/{data.name}"] = data.read_bytes()
    return files


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files below a folder. Those that are there with the same content stay, so that an index stays too."""
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def tools_of(source: str, tools: Sequence[Tool], descriptions: Mapping[str, str]) -> str:
    """The text of a module with the tools and what they need; everything else is left out.

    Raises:
        LookupError: a tool is not there, the browser's constructor is another one, or something that belongs to the
            tasks would be left.
    """
    statements = statements_of(ast.parse(source))
    roots = {tool.root for tool in tools if tool.root}
    if BROWSER in roots:
        roots |= {PAGES}
    bound = {name for statement in statements for name in statement.binds}
    if missing := sorted(roots - bound):
        raise LookupError(f"{', '.join(missing)} is not defined at its top level")
    kept = _needed(statements, roots)
    lines = source.splitlines()
    parts = [_text(statement.node, lines, descriptions) for statement in kept]
    text = _joined(kept, parts)
    left = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    if forbidden := [name for name in LEFT_OUT if name in left or (name.endswith(".json") and name in text)]:
        raise LookupError(f"the tools cannot be told from the tasks: they need {forbidden[0]}")
    return text


def statements_of(tree: ast.Module) -> list[Statement]:
    """The top-level statements of a module, with the names that they bind and need."""
    bare = [(node, _binds(node)) for node in tree.body]
    top = frozenset(name for _, binds in bare for name in binds)
    return [Statement(node, binds, _needs(node, binds) & top) for node, binds in bare]


def _binds(node: ast.stmt) -> frozenset[str]:
    """The names that a statement binds in its module; `with … as` and `for` are seen as local to it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({node.name})
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    if isinstance(node, ast.With | ast.If | ast.Try):
        return frozenset(name for inner in node.body for name in _binds(inner))
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, ast.For):
        return frozenset()
    return frozenset(
        inner.id for target in targets if target for inner in ast.walk(target) if isinstance(inner, ast.Name)
    )


def _needs(node: ast.stmt, binds: frozenset[str]) -> frozenset[str]:
    """The names that a statement reads. Names that a function or a comprehension binds itself are not of the module."""
    if isinstance(node, ast.AugAssign):
        return _read(node) | binds
    return _read(node)


def _read(node: ast.AST) -> frozenset[str]:
    found: set[str] = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set()
    for child in ast.iter_child_nodes(node):
        found |= _read(child)
    return frozenset(found - _local(node))


def _local(node: ast.AST) -> set[str]:
    """The names that are local to a node: arguments, assignments in a function, targets of loops and `with`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        names = {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
        body = [] if isinstance(node, ast.Lambda) else node.body
        return names | {
            inner.id
            for statement in body
            for inner in ast.walk(statement)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        }
    targets: Iterable[ast.AST | None] = ()
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        targets = [each.target for each in node.generators]
    elif isinstance(node, ast.With):
        targets = [item.optional_vars for item in node.items]
    return {inner.id for target in targets if target for inner in ast.walk(target) if isinstance(inner, ast.Name)}


def _needed(statements: Sequence[Statement], roots: set[str]) -> list[Statement]:
    """The statements that bind the roots or what these need, in their order."""
    names, kept = set(roots), set[int]()
    while True:
        more = {place for place, one in enumerate(statements) if one.binds & names} - kept
        if not more:
            return [statements[place] for place in sorted(kept)]
        kept |= more
        names |= {name for place in more for name in statements[place].needs}


def _text(node: ast.stmt, lines: Sequence[str], descriptions: Mapping[str, str]) -> str:
    """The statement as it is written, with descriptions and the browser's defaults put in."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    written = list(lines[first - 1 : node.end_lineno])
    functions = [node] if isinstance(node, ast.FunctionDef) else []
    if isinstance(node, ast.ClassDef):
        functions = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
    # From the end, so that the places of what is above stay right.
    for function in sorted(functions, key=lambda one: -one.lineno):
        start, body = function.lineno - first, function.body[0].lineno - first
        indent = " " * function.body[0].col_offset
        if function.name in descriptions and ast.get_docstring(function) is None:
            written[body:body] = _docstring(descriptions[function.name], indent)
        if isinstance(node, ast.ClassDef) and node.name == BROWSER and function.name == "__init__":
            written[start:body] = [
                *_without_arguments(function),
                f"{indent}pages = {PAGES} if pages is None else pages",
            ]
    return "\n".join(written)


def _docstring(text: str, indent: str) -> list[str]:
    lines = text.replace("\\", "\\\\").replace('"""', "'''").strip().splitlines()
    if len(lines) == 1 and not lines[0].endswith('"'):
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:]), f'{indent}"""']


def _without_arguments(function: ast.FunctionDef) -> list[str]:
    """The first line of the browser's constructor, whose arguments get defaults."""
    arguments = [argument.arg for argument in function.args.args[1:]]
    if arguments != list(DEFAULTS) or function.args.defaults:
        raise LookupError(f"the constructor of {BROWSER} takes {', '.join(arguments) or 'nothing'}")
    function.args.defaults = [ast.parse(default, mode="eval").body for default in DEFAULTS.values()]
    return [f"{' ' * function.col_offset}def {function.name}({ast.unparse(function.args)}):"]


def _joined(kept: Sequence[Statement], parts: Sequence[str]) -> str:
    """The parts with the blank lines that Python code has between them."""
    text = ""
    for statement, part in zip(kept, parts, strict=True):
        block = isinstance(statement.node, ast.FunctionDef | ast.ClassDef | ast.With)
        text += ("\n\n" if block and text else "") + part.strip("\n") + "\n"
    return text
