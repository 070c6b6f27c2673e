"""Traces of a code base itself: the calls in its tests, its examples and its documentation, in order."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.protocols import Index
from codenav.core.system.syntax import parsed
from codenav.core.traces import Trace, TracedCall
from codenav.navigation.call_sequences import Fixtures, Reader
from codenav.navigation.called import Called, InCode, KnownCallables, context_of, typed_flows
from codenav.navigation.code_snippets import examples_in, snippets_in, without_magic
from codenav.navigation.imports import Import, imports_in, imports_of
from codenav.navigation.loaded import LoadedModules
from codenav.navigation.resolve import Resolver
from codenav.retrieval.aside import is_aside, is_test, is_vendored

_EXAMPLES = re.compile(
    r"(?:^|/)(?:examples?|demos?|samples?|tutorials?|docs?|documentation|cookbook|galler(?:y|ies)|notebooks?)/",
    re.IGNORECASE,
)
_DOCUMENTS = frozenset({"markdown", "restructuredtext", "text"})
_FUNCTIONS = (BlockKind.FUNCTION, BlockKind.METHOD)
_TOP_LEVEL = (BlockKind.IMPORT, BlockKind.ASSIGNMENT, BlockKind.CONDITIONAL)
_SETUPS = frozenset({"setUp", "setUpClass", "setup_method", "setup_class", "setup", "asyncSetUp", "setUpTestData"})
"""Methods that run before the tests of their class."""
_FOR_TESTS = re.compile(r"(?:^|[._])(?:testing|tests?|conftest|unittest)(?:[._]|$)|\.(?:assert|skip)[_A-Z]?\w*$")
"""Callables that are there for tests alone: their calls say nothing about the use of a code base."""


class CodeTraces:
    """The calls of a code base in Python, as far as names tell what they call.

    Those of built-ins, of other packages, of private names and of helpers of tests are left out, as is code that cannot
    be parsed.
    """

    def __init__(self, index: Index, *others: Index) -> None:
        """`others`: further code that calls what `index` defines, such as a repository of examples."""
        own: set[str] = set()
        self._fixtures = Fixtures()

        def noted() -> Iterator[CodeBlock]:
            for one in (index, *others):
                for block in one.blocks():
                    self._fixtures.note(block)
                    if one is index:
                        own.add(block.source)
                    yield block

        self._modules = LoadedModules(noted())
        self._known = _PublicCallables(Resolver(self._modules), own)
        self.counts = Counter[str]()
        """The numbers of `tests`, `examples` and `docs` with traces, and of their `calls`."""

    def traces(self, of: Index, origin: str = "code") -> Iterator[Trace]:
        """The traces in one of the indexes: one for each test, example, and section of its documentation.

        A trace has at least two calls, or it teaches nothing.
        """
        reader = _CodeReader(self._known, self._modules.usual(), self._fixtures)
        for path, blocks in groupby(of.blocks(), key=lambda block: block.path):
            if is_vendored(path):
                continue
            for kind, name, calls in reader.read(path, blocks):
                if len(calls) > 1:
                    self.counts[kind] += 1
                    self.counts["calls"] += len(calls)
                    yield Trace(f"{path}::{name}", tuple(calls), origin=origin)

    def flows(self) -> Iterator[tuple[str, str, str]]:
        """Giver, taker and parameter of each flow that annotations state."""
        return typed_flows(self._modules, self._known)


Read = tuple[str, str, list[TracedCall]]
"""The kind of `CodeTraces.counts`, the name of the place, and its calls."""


class _CodeReader:
    def __init__(self, known: KnownCallables, usual: Mapping[str, Import], fixtures: Fixtures) -> None:
        self._known, self._usual, self._fixtures = known, usual, fixtures

    def read(self, path: str, blocks: Iterable[CodeBlock]) -> Iterator[Read]:
        """The calls of the places in one file."""
        document = _Snippets(self, "", path)
        script = _Snippets(self, "", path)
        is_example = bool(_EXAMPLES.search(path)) and not is_test(path)
        setups: dict[str, CodeBlock] = {}
        for block in blocks:
            if block.kind is BlockKind.METHOD and block.name in _SETUPS:
                setups[block.qualname.rpartition(".")[0]] = block
            tested = block.name.startswith("test") and is_test(path)
            if block.kind in _FUNCTIONS and block.language == "python" and (is_example or tested):
                calls = self._function(block, setups.get(block.qualname.rpartition(".")[0]))
                yield "examples" if is_example else "tests", block.qualname, calls
            if is_example and block.language == "python" and block.kind in _TOP_LEVEL:
                script.source = block.source
                script.read(block.text)
            elif block.kind is BlockKind.DOCUMENT and block.language in _DOCUMENTS:
                document.source = block.source
                for code in snippets_in(block.text, block.language):
                    document.read(code)
                yield "docs", block.qualname, document.taken()
            elif block.kind is BlockKind.DOCUMENT and path.endswith(".ipynb"):
                script.source = block.source
                script.read(without_magic(block.text))
            elif not is_test(path) and block.docstring and block.language == "python":
                inner = _Snippets(self, block.source, path)
                inner.read("".join(examples_in(block.docstring)))
                yield "docs", block.qualname, inner.taken()
        yield "examples", path, script.taken()

    def _function(self, block: CodeBlock, setup: CodeBlock | None) -> list[TracedCall]:
        """The calls of a function, and those before it whose results it takes."""
        tree = parsed(block.text)
        before = parsed(setup.text) if setup else None
        if tree is None:
            return []
        reader = Reader(InCode(self._known, block))
        if before is not None and setup is not None:
            reader.callables = InCode(self._known, setup)
            reader.prepare(before.body)
        self._fixtures.give(reader, self._known, block, tree)
        reader.callables = InCode(self._known, block)
        reader.read_function(tree.body)
        return reader.used()

    def context(self, source: str, path: str, tree: ast.Module, imports: list[str]) -> InCode:
        """The meaning of names in code after these imports: that in its module, else the usual one."""
        bound = set(imports_in("\n".join(imports))[0])
        more = []
        for name in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
            what = self._usual.get(name)
            if what is not None and name not in bound:
                front = f"from {what.module} import {what.name}" if what.name else f"import {what.module}"
                more.append(f"{front} as {name}")
        return InCode(self._known, context_of([*sorted(more), *imports], source=source, path=path))


class _Snippets:
    """Pieces of code of one document, each of which knows the names of those before it."""

    def __init__(self, reader: _CodeReader, source: str, path: str) -> None:
        self.source = source
        self._reader, self._path = reader, path
        self._imports: list[str] = []
        self._calls: Reader | None = None

    def read(self, code: str) -> None:
        """Read a piece; one that is no Python is left out."""
        tree = parsed(code) if code.strip() else None
        if tree is None:
            return
        self._imports = list(dict.fromkeys([*self._imports, *imports_of(tree)]))
        names = self._reader.context(self.source, self._path, tree, self._imports)
        if self._calls is None:
            self._calls = Reader(names)
        self._calls.callables = names
        self._calls.read(tree.body)

    def taken(self) -> list[TracedCall]:
        """The calls since the last time."""
        return self._calls.taken() if self._calls else []


class _PublicCallables(KnownCallables):
    """The callables that a code base is used by: neither tests nor what is private."""

    def __init__(self, resolver: Resolver, sources: Collection[str]) -> None:
        """`sources`: those of the code base."""
        super().__init__(resolver)
        self._sources = sources

    def _of(self, block: CodeBlock) -> Called | None:
        found = super()._of(block) if block.source in self._sources else None
        if found is None or is_aside(block) or any(part.startswith("_") for part in block.qualname.split(".")):
            return None
        return None if _FOR_TESTS.search(found.name) else found
