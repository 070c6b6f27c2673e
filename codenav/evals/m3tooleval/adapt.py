"""The adapted code base: of each domain's module the tools and the statements that they need, in a package `m3eval`."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import codenav.evals.tracer as tracer
from codenav.core.errors import UsageError
from codenav.evals.benchmark import with_docstrings
from codenav.evals.m3tooleval.upstream import ANOTHER, Domain, Tool

PACKAGE = "m3eval"
FILES: Mapping[str, str] = {"web_browsing": "browser", "travel_itinerary_planning": "travel_planner"}
"""Names of our files by upstream's modules, where they are not the same."""
BROWSER, PAGES = "WebBrowser", "PAGES"
DEFAULTS: Mapping[str, str] = {"pages": "None", "default_page": "'/'"}
"""Defaults given to the constructor of the browser: in the paper it is made without arguments."""
LEFT_OUT = ("metadata.json", "TASKS", "Task", "ToolType", "METADATA")
"""Upstream's names around the expected results. None of them may be left in the code base."""

_INIT = f"""from {PACKAGE}._tracer import trace

trace(__name__, __path__)
"""


@dataclass(frozen=True)
class Statement:
    """A top-level statement of a module."""

    node: ast.stmt
    binds: frozenset[str]
    """Names that it binds in the module; those of `with … as` are seen as local to it."""
    needs: frozenset[str]
    """Names that it, or code inside it, reads from the module and does not bind itself."""

    @classmethod
    def of(cls, node: ast.stmt) -> Statement:
        """The statement with its names."""
        module = symtable.symtable(ast.unparse(node), "module", "exec")
        binds = {one.get_name() for one in module.get_symbols() if one.is_assigned() or one.is_imported()}
        reads = {one.get_name() for one in module.get_symbols() if one.is_referenced()}
        below = list(module.get_children())
        while below:
            table = below.pop()
            below += table.get_children()
            reads |= {one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()}
        held = [item.optional_vars for item in node.items] if isinstance(node, ast.With) else []
        local = {name.id for name in held if isinstance(name, ast.Name)}
        return cls(node, frozenset(binds - local), frozenset(reads - binds))


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
        f"{PACKAGE}/_tracer.py": Path(tracer.__file__).read_bytes(),
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


def tools_of(source: str, tools: Sequence[Tool], descriptions: Mapping[str, str]) -> str:
    """The text of a module with the tools and what they need; everything else is left out.

    Raises:
        LookupError: a tool is not there, the browser's constructor is another one, or something that belongs to the
            tasks would be left.
    """
    statements = [Statement.of(node) for node in ast.parse(source).body]
    roots = {tool.root for tool in tools if tool.root}
    if BROWSER in roots:
        roots |= {PAGES}
    bound = {name for statement in statements for name in statement.binds}
    if missing := sorted(roots - bound):
        raise LookupError(f"{', '.join(missing)} is not defined at its top level")
    lines, text = source.splitlines(), ""
    for node in _needed(statements, roots):
        # With the blank lines that Python code has between statements.
        block = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.With)
        text += ("\n\n" if block and text else "") + _text(node, lines).strip("\n") + "\n"
    text = with_docstrings(text, descriptions)
    left = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    if forbidden := [name for name in LEFT_OUT if name in left or (name.endswith(".json") and name in text)]:
        raise LookupError(f"the tools cannot be told from the tasks: they need {forbidden[0]}")
    return text


def _needed(statements: Sequence[Statement], roots: set[str]) -> list[ast.stmt]:
    """The statements that bind the roots or what these need, in their order."""
    names, kept = set(roots), set[int]()
    while True:
        more = {place for place, one in enumerate(statements) if one.binds & names} - kept
        if not more:
            return [statements[place].node for place in sorted(kept)]
        kept |= more
        names |= {name for place in more for name in statements[place].needs}


def _text(node: ast.stmt, lines: Sequence[str]) -> str:
    """The statement as it is written, with the browser's defaults put in."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    written = list(lines[first - 1 : node.end_lineno])
    if isinstance(node, ast.ClassDef) and node.name == BROWSER:
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                begin = " " * one.body[0].col_offset + f"pages = {PAGES} if pages is None else pages"
                written[one.lineno - first : one.body[0].lineno - first] = [*_without_arguments(one), begin]
    return "\n".join(written)


def _without_arguments(function: ast.FunctionDef) -> list[str]:
    """The first line of the browser's constructor, whose arguments get defaults."""
    arguments = [argument.arg for argument in function.args.args[1:]]
    if arguments != list(DEFAULTS) or function.args.defaults:
        raise LookupError(f"the constructor of {BROWSER} takes {', '.join(arguments) or 'nothing'}")
    function.args.defaults = [ast.parse(default, mode="eval").body for default in DEFAULTS.values()]
    return [f"{' ' * function.col_offset}def {function.name}({ast.unparse(function.args)}):"]
