"""A real package as blocks, cut by the standard library's own parser."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind, CodeBlock, FileChange, FileState, LineSpan, block_id
from codenav.retrieval.embedded.index import EmbeddedIndex

KINDS = {
    ast.FunctionDef: BlockKind.FUNCTION, ast.AsyncFunctionDef: BlockKind.FUNCTION, ast.ClassDef: BlockKind.CLASS,
    ast.Assign: BlockKind.ASSIGNMENT, ast.Import: BlockKind.IMPORT, ast.ImportFrom: BlockKind.IMPORT,
}  # fmt: skip


def blocks_of(path: Path, relative: str, source: str) -> Iterator[CodeBlock]:
    """Functions, classes, methods, assignments and imports of a file; a class block is its header and docstring."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")

    def block(node: ast.stmt, kind: BlockKind, prefix: str = "") -> CodeBlock:
        name = getattr(node, "name", None) or ast.unparse(node).split(" ")[0]
        docstring = (ast.get_docstring(node) or "") if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""
        end = node.end_lineno or node.lineno
        body = "\n".join(lines[node.lineno - 1 : end])
        if kind is BlockKind.CLASS:
            body = "\n".join([lines[node.lineno - 1], docstring])
        id = block_id(source, relative, prefix + name, kind, body, node.lineno)
        return CodeBlock(
            id, kind, name, prefix + name, relative, LineSpan(node.lineno, end), body, lines[node.lineno - 1].strip(),
            docstring, "python", source,
        )  # fmt: skip

    for node in ast.parse(text).body:
        if type(node) not in KINDS:
            continue
        yield block(node, KINDS[type(node)])
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield block(inner, BlockKind.METHOD, f"{node.name}.")


def changes_of(package: str) -> list[FileChange]:
    """Every file of an installed package."""
    spec = importlib.util.find_spec(package)
    assert spec and spec.origin
    root = Path(spec.origin).parent
    changes = []
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root.parent).as_posix()
        status = path.stat()
        blocks = list(blocks_of(path, relative, f"pkg:{package}"))
        changes.append(FileChange(relative, FileState(status.st_size, status.st_mtime_ns, str(len(blocks))), blocks))
    return changes


@pytest.fixture(scope="session")
def networkx_changes() -> list[FileChange]:
    return changes_of("networkx")


@pytest.fixture(scope="session")
def networkx_index(tmp_path_factory: pytest.TempPathFactory, networkx_changes: list[FileChange]) -> EmbeddedIndex:
    index = EmbeddedIndex(tmp_path_factory.mktemp("networkx"), source="pkg:networkx")
    index.apply(networkx_changes, versions={"networkx": "3"})
    return index


TOOLS = {
    "create_order": "Create an order for a customer.",
    "list_orders": "List the orders of a customer, the newest first.",
    "get_order": "Get an order of a customer with its items.",
    "create_customer": "Create a customer with an account.",
    "find_customers": "Find customers by name or account.",
    "list_shoes": "List the shoes that can be ordered, by colour and size.",
    "convert_currency": "Convert an amount of money from one currency into another, such as euros into dollars.",
    "get_weather": "Get the weather of a city.\n\nArgs:\n" + "    city: the name of a city.\n" * 40,
}


def shop_tools() -> list[FileChange]:
    """The tools of a shop, each a file with one block of kind TOOL."""
    found = []
    for name, docstring in TOOLS.items():
        path = f"shop/{name}.tool"
        text = f'def {name}() -> Any:\n    """{docstring}"""\n'
        id = block_id("tools:shop.json", path, name, BlockKind.TOOL, text)
        block = CodeBlock(
            id, BlockKind.TOOL, name, name, path, LineSpan(1, 2), text, f"def {name}() -> Any", docstring, "python",
            "tools:shop.json", f"from tools.shop import {name}",
        )  # fmt: skip
        found.append(FileChange(path, FileState(len(text), 0, id), [block]))
    return found
