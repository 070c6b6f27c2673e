"""The fixtures of pytest that tests take as arguments."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import PurePosixPath

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.system.syntax import parsed
from codenav.navigation.call_sequences import FUNCTIONS, Reader
from codenav.navigation.called import InCode, KnownCallables

_MARK = re.compile(r"^\s*@\s*(?:pytest(?:_asyncio)?\.)?fixture\b", re.MULTILINE)
_NAMED = re.compile(r"\bname\s*=\s*[\"'](\w+)[\"']")
_DEEPEST = 8
"""Fixtures that take each other."""


class Fixtures:
    """The fixtures of code bases, by the file that defines them."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[str, CodeBlock]] = defaultdict(dict)

    def note(self, block: CodeBlock) -> None:
        """Remember a block, if it is a fixture."""
        if block.kind in (BlockKind.FUNCTION, BlockKind.METHOD) and "fixture" in block.text[:1_000]:
            head, _, _ = block.text.partition("def ")
            if _MARK.search(head):
                named = _NAMED.search(head)
                self._found[block.source, block.path][named[1] if named else block.name] = block

    def give(self, reader: Reader, known: KnownCallables, test: CodeBlock, tree: ast.Module) -> None:
        """Read the fixtures that a test takes, as far as they call something, so that their results have its names."""
        given: set[str] = set()

        def give(body: ast.Module, depth: int) -> None:
            for name in _parameters(body) if depth < _DEEPEST else ():
                fixture = self._of(test, name)
                made = parsed(fixture.text) if fixture is not None and name not in given else None
                if fixture is None or made is None:
                    continue
                given.add(name)
                give(made, depth + 1)
                reader.callables = InCode(known, fixture)
                reader.make(name, made.body)

        give(tree, 0)

    def _of(self, test: CodeBlock, name: str) -> CodeBlock | None:
        """The fixture of that name that a test sees: that of its own file, else of the nearest folder above."""
        above = (str(folder / "conftest.py") for folder in PurePosixPath(test.path).parents)
        found = (self._found.get((test.source, place), {}).get(name) for place in (test.path, *above))
        return next(filter(None, found), None)


def _parameters(tree: ast.Module) -> list[str]:
    function = next((node for node in tree.body if isinstance(node, FUNCTIONS)), None)
    return [one.arg for one in (*function.args.args, *function.args.kwonlyargs)] if function else []
