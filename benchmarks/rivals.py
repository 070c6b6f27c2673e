"""Other tools on the same files: the time to read them, and the cost of parsing alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from measure import Cost, repeated, run

from codenav.core.blocks import CodeBlock

NEVER = "no_file_holds_this_[0-9]{30}"

_EACH_FILE = """
import ast, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
sys.setrecursionlimit(10_000)
{setup}
for path in Path(sys.argv[1]).rglob("*.py"):
    try:
        {parse}
    except (SyntaxError, RecursionError, ValueError):
        pass
"""
AST = _EACH_FILE.format(setup="", parse="ast.parse(path.read_bytes())")
TREE_SITTER = _EACH_FILE.format(
    setup="import tree_sitter, tree_sitter_python\n"
    "parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))",
    parse="parser.parse(path.read_bytes())",
)
FTS5 = """
import json, sqlite3, sys
base = sqlite3.connect(sys.argv[2])
base.execute("create virtual table blocks using fts5(name, qualname, path, signature, docstring, text)")
with open(sys.argv[1], encoding="utf-8") as lines, base:
    base.executemany("insert into blocks values (?, ?, ?, ?, ?, ?)", map(json.loads, lines))
"""


def rows(tree: Path, runs: int) -> Iterator[tuple[str, Cost]]:
    """A row for each installed tool; ripgrep first."""
    if shutil.which("rg"):
        command = ["rg", "--no-config", "-uuu", "-c", NEVER, tree]
        yield "ripgrep reads the files", repeated(lambda: run(command, ok=(1,)), runs)
    if _universal_ctags():
        tags = ["ctags", "-R", "--languages=Python", "--fields=+nKSe", "--links=no", "-f", tree.parent / "tags", tree]
        yield "universal-ctags", repeated(lambda: run(tags), runs)
    yield "tree-sitter parses, one process", repeated(lambda: run([sys.executable, "-c", TREE_SITTER, tree]), runs)
    yield "ast.parse, one process", repeated(lambda: run([sys.executable, "-c", AST, tree]), runs)


def fts5(blocks: Iterable[CodeBlock], place: Path, runs: int) -> Cost:
    """The cost of SQLite's full-text index of the same blocks: reading them from JSON lines, and inserting."""
    lines, base = place / "blocks.jsonl", place / "fts5.db"
    with open(lines, "w", encoding="utf-8", errors="replace") as file:
        for block in blocks:
            fields = (block.name, block.qualname, block.path, block.signature, block.docstring, block.text)
            file.write(json.dumps(fields) + "\n")
    return repeated(lambda: run([sys.executable, "-c", FTS5, lines, base]), runs, lambda: base.unlink(missing_ok=True))


def _universal_ctags() -> bool:
    if not shutil.which("ctags"):
        return False
    told = subprocess.run(["ctags", "--version"], capture_output=True, text=True)
    return "Universal Ctags" in told.stdout
