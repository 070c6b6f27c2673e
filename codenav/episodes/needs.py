"""The needs of an exported script or notebook: code to import, with its versions, and input files."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from codenav.core.system.syntax import parsed
from codenav.core.system.terminal_text import few

_TOOLS = ("openapi:", "mcp:", "tools:")
_STUBS = re.compile(r"/tools/[^/]+/[0-9a-f]{32}/stubs$")
"""The end of the path of stubs in the cache."""
_MANY = 12
"""Input files that are named and checked one by one; further ones are counted."""


def told(document: Mapping[str, Any], files: Sequence[str]) -> list[str]:
    """Lines that name the Python, the sources with their versions, and the input files that are needed."""
    python = document["sandbox"].get("python_version", "")
    lines = [f"Python {python}"] if python else []
    for source in document["sources"]:
        name, versions = str(source["source"]), sorted(source["versions"].items())
        if name.startswith(_TOOLS):
            lines += _tools(name, called(document))
            continue
        if name.startswith("git:"):
            name = " ".join([name, *(f"at commit {commit}" for _, commit in versions)])
        if not name.startswith("pkg:"):
            lines.append(f"The code of {name}")
        if not name.startswith("git:"):
            lines += [f"{package}=={version}" for package, version in versions]
    if files:
        there = f" (the run took them from {document['work_dir']})" if document["work_dir"] else ""
        lines.append(f"Input files in the current directory: {few(files, _MANY)}{there}")
    return lines


def prelude(document: Mapping[str, Any], files: Sequence[str], *, what: str) -> str:
    """Code that makes the sources importable and exits with one sentence where something is missing; may be empty.

    `what`: `script` or `notebook`, for that sentence.
    """
    given = (path for source in document["sources"] for path in source.get("import_paths", ()))
    # Stubs of tools work only where codenav runs the code.
    paths = [path for path in dict.fromkeys(given) if not _STUBS.search(path)]
    needed = [*paths, *files[:_MANY]]
    if not needed:
        return ""
    # As the sandbox does: a single file is found in its folder.
    folders = list(dict.fromkeys(str(Path(path).parent) if path.endswith(".py") else path for path in paths))
    lines = [
        "import os",
        *(["import sys"] if folders else []),
        "",
        f"for needed in {_list_of(needed)}:",
        "    if not os.path.exists(needed):",
        f'        raise SystemExit(f"{{os.path.abspath(needed)}} is not there, and this {what} needs it")',
        *([f"sys.path[:0] = {_list_of(folders)}"] if folders else []),
    ]
    return "\n".join(lines) + "\n"


def called(document: Mapping[str, Any]) -> list[str]:
    """The tools that the steps have called, by name."""
    steps = (step["observation"] for step in document["steps"])
    calls = (call for data in steps if isinstance(data, dict) for call in data.get("calls", ()))
    return sorted({str(call["tool"]) for call in calls})


def _tools(source: str, tools: Sequence[str]) -> list[str]:
    named = f" (called: {few(tools, _MANY)})" if tools else ""
    return [
        f"The tools of {source}{named}: it sends requests to their service.",
        f"  codenav sandbox start --name NAME --on {shlex.quote(source)}",
        "starts a sandbox that has them (--secret and --allow as for a run); codenav sandbox exec NAME runs this there",
    ]


def joined(code: str, before: str) -> str:
    """The code with `before` inserted after a docstring and `from __future__` lines, which Python wants first."""
    head, rest = _split(code) if before else ("", code)
    return "\n".join(part.strip("\n") + "\n" for part in (head, before, rest) if part.strip())


def files_read(code: str, inputs: Sequence[str], document: Mapping[str, Any]) -> list[str]:
    """The input files that the code reads, as far as its string literals tell.

    They are the files that it names; where it names none, those that a pattern (`*.csv`) or a folder in it stands for.
    Files that the steps of the run wrote do not count.
    """
    texts = list(_texts(code))
    written = {name for step in document["steps"] for name in _written(step)}
    found = [name for name in inputs if name not in written]

    def having(pattern: str) -> bool:
        return any(re.search(pattern, text) for text in texts)

    def stood_for(path: PurePosixPath) -> bool:
        suffix = rf"(?<!\w){re.escape(path.suffix)}(?!\w)"
        folders = [rf"(?:^|/){re.escape(folder)}(?:/|$)" for folder in path.parts[:-1]]
        return any(map(having, [suffix, *folders] if path.suffix else folders))

    named = [name for name in found if having(rf"(?<![\w-]){re.escape(PurePosixPath(name).name)}(?![\w-])")]
    return named or [name for name in found if stood_for(PurePosixPath(name))]


def _written(step: Mapping[str, Any]) -> Sequence[str]:
    observation = step["observation"]
    return observation.get("files", ()) if isinstance(observation, dict) else ()


def _texts(code: str) -> Iterator[str]:
    """The string literals in the code; the whole code where this Python cannot parse it."""
    tree = parsed(code)
    if tree is None:
        yield code
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _split(code: str) -> tuple[str, str]:
    tree = parsed(code)
    first = 0
    while tree and first < len(tree.body) and _comes_first(tree.body[first], first):
        first += 1
    if tree is None or not first:
        return "", code
    last, following = tree.body[first - 1], tree.body[first : first + 1]
    # As Python counts lines: `str.splitlines` also splits at form feeds.
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    end = last.end_lineno or last.lineno
    if following and following[0].lineno == end:
        line = lines[end - 1].encode()
        at = following[0].col_offset
        lines[end - 1 : end] = [line[:at].decode().rstrip(" ;"), line[at:].decode()]
    return "\n".join(lines[:end]), "\n".join(lines[end:])


def _comes_first(node: ast.stmt, place: int) -> bool:
    """True if Python wants a statement at the top: a docstring, a `from __future__` line."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return place == 0 and isinstance(node.value.value, str)
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _list_of(names: Sequence[str]) -> str:
    line = "[" + ", ".join(map(repr, names)) + "]"
    return line if len(line) <= 90 else "[\n" + "".join(f"    {name!r},\n" for name in names) + "]"
