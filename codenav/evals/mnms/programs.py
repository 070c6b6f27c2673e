"""Calls of tools in a program, found in its syntax tree; and a plan written as a program."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from codenav.core.system.syntax import parsed
from codenav.evals.mnms.plans import Plan

PACKAGE, MODULE = "mnm", "tool_api"
"""The adapted code base: `from mnm.tool_api import image_captioning`."""
_MODULES = frozenset({PACKAGE, MODULE, f"{PACKAGE}.{MODULE}"})
_REFERENCE = re.compile(r"<node-(\d+)>\.(\w+)")


def calls_in(program: str, tools: Collection[str]) -> list[str] | None:
    """The tools that a program calls, in the order of evaluation; None if it is no Python.

    A call counts once for each place in the text, also in a function and under a condition. Names are followed through
    imports and plain assignments (`caption = image_captioning`); methods of values (`text.count("a")`) are no tools,
    and neither is a function that the program defines itself.
    """
    tree = parsed(program)
    if tree is None:
        return None
    found = _Calls(frozenset(tools))
    try:
        found.learn(tree)
        found.visit(tree)
    except RecursionError:
        return None
    return found.called


class _Calls(ast.NodeVisitor):
    """The calls of tools, arguments before the call that takes them."""

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools
        self._named = {name: name for name in tools}
        """The tool that a name stands for."""
        self._modules = set(_MODULES)
        """Dotted names of the modules with the tools."""
        self.called: list[str] = []

    def learn(self, tree: ast.Module) -> None:
        """Follow what the program imports, defines and assigns."""
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._named.pop(node.name, None)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    bound = alias.asname or alias.name
                    if alias.name == MODULE:
                        self._modules.add(bound)
                    elif alias.name in self._tools and (node.module or "").split(".")[0] in _MODULES:
                        self._named[bound] = alias.name
                    else:
                        # `from itertools import count`: another function of that name.
                        self._named.pop(bound, None)
            elif isinstance(node, ast.Import):
                self._modules |= {one.asname for one in node.names if one.asname and one.name in _MODULES}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                tool = self._tool(node.value)
                if tool:
                    self._named[node.targets[0].id] = tool

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        tool = self._tool(node.func)
        if tool:
            self.called.append(tool)

    def _tool(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._named.get(node.id)
        if isinstance(node, ast.Attribute) and node.attr in self._tools and ast.unparse(node.value) in self._modules:
            return node.attr
        return None


def program_of(plan: Plan) -> str:
    """A plan as a program of the adapted code base."""
    lines = [f"from {PACKAGE}.{MODULE} import {', '.join(sorted({node.name for node in plan}))}", ""]
    for node in plan:
        arguments = ", ".join(f"{name}={_source(value)}" for name, value in node.args.items())
        lines.append(f"output{node.id} = {node.name}({arguments})")
    return "\n".join(lines) + "\n"


def _source(value: object) -> str:
    if not isinstance(value, str):
        return repr(value)
    whole = _REFERENCE.fullmatch(value)
    if whole:
        return f"output{whole[1]}[{whole[2]!r}]"
    # Odd parts are numbers of nodes and keys.
    parts = _REFERENCE.split(value)
    if len(parts) == 1:
        return repr(value)
    pieces = [repr(parts[0])] if parts[0] else []
    for number, key, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pieces.append(f"str(output{number}[{key!r}])")
        if text:
            pieces.append(repr(text))
    return " + ".join(pieces)
