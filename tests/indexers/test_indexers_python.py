"""Blocks of Python files, and their fields."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.decode import decode
from codenav.indexers.place import Place
from codenav.indexers.python_blocks import python_blocks

Parsed = Callable[[str], dict[str, CodeBlock]]

DEFINITIONS = {BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS}


def definitions_by_ast(text: str) -> set[tuple[str, str, int, int, str]]:
    """Kind, qualified name, lines with decorators and docstring of every definition, by the standard library."""
    found = set()
    pending: list[tuple[ast.AST, tuple[str, ...], str]] = [(ast.parse(text), (), "")]
    while pending:
        node, names, around = pending.pop()
        for child in ast.iter_child_nodes(node):
            inner, kind = names, around
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = (*names, child.name)
                if isinstance(child, ast.ClassDef):
                    kind, label = "class", "CLASS"
                else:
                    kind, label = "function", "METHOD" if around == "class" else "FUNCTION"
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                found.add((label, ".".join(inner), first, child.end_lineno or 0, ast.get_docstring(child) or ""))
            pending.append((child, inner, kind))
    return found


def calls_by_ast(text: str) -> set[str]:
    """The dotted names that are called, by the standard library; of other expressions the last name after a dot."""
    return {_dotted(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)} - {""}


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value) if isinstance(node.value, ast.Attribute | ast.Name) else ""
        return f"{inner}.{node.attr}" if inner[:1] != "." else f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("package", ["networkx", "click", "rich", "asyncio", "email"])
def test_every_definition_of_a_package_is_a_block_as_the_ast_module_sees_it(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec and spec.origin
    files = sorted(Path(spec.origin).parent.rglob("*.py"))[:80]
    assert len(files) > 10
    for path in files:
        text = decode(path.read_bytes(), cookie=True)
        blocks = python_blocks(text, Place("s", path.name))
        mine = {
            (block.kind.value, block.qualname, block.lines.start, block.lines.end, block.docstring)
            for block in blocks
            if block.kind in DEFINITIONS
        }
        assert mine == definitions_by_ast(text)
        assert {name for block in blocks for name in block.calls} == calls_by_ast(text), path


def test_a_function_has_its_decorators_signature_docstring_import_and_calls(parsed: Parsed) -> None:
    block = parsed('''
@cache(size=3)
@traced
async def detect(
    image: np.ndarray,  # the picture
    *,
    label: str = "a  # b",
    boxes: int = 1,
) -> list[Box]:
    # why
    """Find things.

        Indented \\d.
    """
    found = self.model(image)
    return await np.linalg.norm(found).sort(key=lambda box: score(box, found[0]()))
''')["detect"]
    assert block.kind is BlockKind.FUNCTION
    assert block.name == "detect"
    assert block.lines == LineSpan(2, 16)
    assert block.text.startswith("@cache(size=3)\n@traced\nasync def detect(") and block.text.endswith("]()))")
    assert block.signature == (
        'async def detect(image: np.ndarray, *, label: str = "a  # b", boxes: int = 1) -> list[Box]'
    )
    assert block.docstring == "Find things.\n\nIndented \\d."
    assert block.import_line == "from pkg.mod import detect"
    assert block.calls == ("cache", "self.model", "np.linalg.norm", ".sort", "score")
    assert (block.language, block.source, block.path) == ("python", "/somewhere", "pkg/mod.py")


def test_a_class_shows_its_methods_as_signatures_and_each_method_is_a_block(parsed: Parsed) -> None:
    blocks = parsed('''
@dataclass(frozen=True)
class Box(Base, metaclass=Meta):
    """A box."""

    side: int = field(default=1)
    # A comment stays.

    @property
    def area(self) -> int:
        """Square."""
        return secret(self.side)

    if FAST:
        async def load(self,
                       path: str): return read(path)

    class Inner(Other):
        deep = 1
        def method(self): return deeper()
''')
    assert (
        blocks["Box"].text
        == '''@dataclass(frozen=True)
class Box(Base, metaclass=Meta):
    """A box."""

    side: int = field(default=1)
    # A comment stays.

    @property
    def area(self) -> int: ...

    if FAST:
        async def load(self,
                       path: str): ...

    class Inner(Other): ...'''
    )
    assert blocks["Box"].signature == "class Box(Base, metaclass=Meta)"
    assert blocks["Box"].calls == ("dataclass", "field")
    assert blocks["Box"].lines == LineSpan(2, 20)
    area = blocks["Box.area"]
    assert (area.kind, area.name, area.lines) == (BlockKind.METHOD, "area", LineSpan(9, 12))
    assert area.text == '@property\ndef area(self) -> int:\n    """Square."""\n    return secret(self.side)'
    assert area.import_line == "from pkg.mod import Box"
    assert blocks["Box.load"].kind is BlockKind.METHOD
    assert blocks["Box.load"].signature == "async def load(self, path: str)"
    assert blocks["Box.Inner.method"].import_line == "from pkg.mod import Box"
    assert blocks["Box.Inner"].text == "class Inner(Other):\n    deep = 1\n    def method(self): ..."


def test_definitions_in_a_case_and_in_other_branches_are_found(parsed: Parsed) -> None:
    """Those of all other statements are in the packages that are compared with `ast`."""
    blocks = parsed(
        "match x:\n    case 1:\n        def in_case(): pass\nif a:\n    pass\nelif b:\n    def in_elif(): pass\n"
        "def outer():\n    class Local:\n        def method(self): pass\n"
    )
    lines = {name: block.import_line for name, block in blocks.items() if block.kind in DEFINITIONS}
    assert lines == {
        "in_case": "from pkg.mod import in_case",
        "in_elif": "from pkg.mod import in_elif",
        "outer": "from pkg.mod import outer",
        "outer.Local": "",
        "outer.Local.method": "",
    }


def test_names_that_an_import_does_not_find_have_no_import_line(parsed: Parsed) -> None:
    blocks = parsed("""
if __name__ == "__main__":
    def script(): pass
if TYPE_CHECKING:
    class OnlyTypes: pass
else:
    class AtRunTime: pass
declared: int
""")
    lines = {name: block.import_line for name, block in blocks.items()}
    assert lines["script"] == lines["OnlyTypes"] == lines["declared"] == ""
    assert lines["AtRunTime"] == "from pkg.mod import AtRunTime"


def test_module_level_statements(parsed: Parsed) -> None:
    blocks = parsed('''#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""About the module.

More."""
from __future__ import annotations
import os, sys

# A comment does not part imports.
from a.b import c as d
LIMIT: int = compute(3)
"""The most there may be."""
names += ["x"]
left, right = 1, 2
a = b = 3
type Pair[T] = tuple[T, T]
try:
    import fast
except ImportError:
    fast = None
app.register(Box)
print("ready")
import late
''')
    kinds = [(block.kind.value, block.qualname) for block in blocks.values() if block.qualname != "imports"]
    assert kinds == [
        ("DOCUMENT", "pkg.mod"),
        ("ASSIGNMENT", "LIMIT"),
        ("ASSIGNMENT", "names"),
        ("ASSIGNMENT", "left, right"),
        ("ASSIGNMENT", "a"),
        ("ASSIGNMENT", "Pair"),
        ("CONDITIONAL", "try"),
        ("ASSIGNMENT", "statements"),
    ]
    document = blocks["pkg.mod"]
    assert (document.name, document.docstring, document.lines) == ("mod", "About the module.\n\nMore.", LineSpan(3, 5))
    assert document.import_line == "import pkg.mod"
    assert blocks["LIMIT"].docstring == "The most there may be."
    assert blocks["LIMIT"].import_line == "from pkg.mod import LIMIT"
    assert blocks["LIMIT"].calls == ("compute",)
    assert blocks["left, right"].import_line == ""
    assert blocks["statements"].text == 'app.register(Box)\nprint("ready")'
    assert blocks["try"].text == "try:\n    import fast\nexcept ImportError:\n    fast = None"


def test_adjacent_imports_are_one_block_and_others_another() -> None:
    source = "import a\n\n# why\nfrom b import (\n    c,\n    d,\n)\nx = 1\nimport e; import f\n"
    blocks = [block for block in python_blocks(source, Place("s", "m.py")) if block.kind is BlockKind.IMPORT]
    assert [(block.lines, block.signature) for block in blocks] == [
        (LineSpan(1, 7), "import a; from b import (c, d)"),
        (LineSpan(9, 9), "import e; import f"),
    ]
    assert blocks[0].text == "import a\n\n# why\nfrom b import (\n    c,\n    d,\n)"


def test_a_conditional_shows_its_definitions_as_signatures(parsed: Parsed) -> None:
    blocks = parsed("if sys.platform == 'win32':\n    def join(a):\n        return glue(a)\n    SEP = mark()\n")
    conditional = blocks["if sys.platform == 'win32'"]
    assert conditional.text == "if sys.platform == 'win32':\n    def join(a): ...\n    SEP = mark()"
    assert conditional.calls == ("mark",)
    assert blocks["join"].text == "def join(a):\n    return glue(a)"


def test_a_long_assignment_in_a_class_is_a_block_of_its_own(parsed: Parsed) -> None:
    table = ", ".join(f"'key{number}': {number}" for number in range(200))
    blocks = parsed(f"class Table:\n    short = 1\n    rows = {{{table}}}\n    def get(self): pass\n")
    assert blocks["Table"].text == "class Table:\n    short = 1\n    rows = ...\n    def get(self): ..."
    assert "'key199': 199" in blocks["Table.rows"].text
    assert blocks["Table.rows"].kind is BlockKind.ASSIGNMENT


def test_equal_definitions_get_different_ids_that_last() -> None:
    source = "def f(): pass\ndef f(): pass\nclass A:\n    def f(self): pass\n"
    first = python_blocks(source, Place("s", "m.py"))
    moved = python_blocks("\n\n# lines above\n" + source, Place("s", "m.py"))
    assert len({block.id for block in first}) == 4
    assert [block.id for block in first] == [block.id for block in moved]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("\x0cdef a():\n\x0c    pass\n\x0c\ndef target():\n    pass\n", LineSpan(4, 5)),
        ("def a():\r\n\tpass\r\n\r\ndef target():\r\n\tif x:\r\n\t\treturn 1\r\n", LineSpan(4, 6)),
        ("\ufeffdef a(): pass\n\ndef target():\n        pass\n", LineSpan(3, 4)),
        ("x = '''\x0b\x1c\u2028\n'''\ndef target(): pass", LineSpan(3, 3)),
        ("a = 1\rdef target():\r  pass\r", LineSpan(2, 3)),
        ("x = 1; y = \\\n  2\n@d\ndef target(): return 1  # c\n# trailing\n", LineSpan(3, 4)),
    ],
)
def test_lines_are_those_that_python_counts(source: str, lines: LineSpan) -> None:
    text = decode(source.encode(), cookie=True)
    block = next(block for block in python_blocks(text, Place("s", "m.py")) if block.name == "target")
    assert block.lines == lines
    node = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == "target")
    assert node.end_lineno == lines.end


def test_text_is_without_the_indentation_unless_a_string_has_less(parsed: Parsed) -> None:
    blocks = parsed('class A:\n    def f(self):\n        return """\nx\n"""\n\n    def g(self):\n\n        return 1\n')
    assert blocks["A.f"].text == '    def f(self):\n        return """\nx\n"""'
    assert blocks["A.g"].text == "def g(self):\n\n    return 1"


def test_string_prefixes_and_escapes_of_docstrings(parsed: Parsed) -> None:
    blocks = parsed(r'''
def raw():
    r"""a\n"""
def escaped():
    "tab\there \x41 \u00e9 \ud800 \q"
def joined():
    "one " 'two'
def formatted():
    f"no {x}"
def binary():
    b"no"
def none():
    1
''')
    texts = {name: block.docstring for name, block in blocks.items()}
    assert texts == {
        "raw": "a\\n",
        "escaped": "tab     here A é \ufffd \\q",
        "joined": "one two",
        "formatted": "",
        "binary": "",
        "none": "",
    }


@pytest.mark.parametrize(
    ("module", "line"),
    [("", ""), ("pkg.mod", "from pkg.mod import f")],
)
def test_a_module_that_cannot_be_imported_gives_no_import_line(module: str, line: str) -> None:
    blocks = python_blocks('"""Doc."""\ndef f(): pass\n', Place("s", "my-script.py", module))
    assert blocks[1].import_line == line
    assert blocks[0].qualname == (module or "my-script")


@pytest.mark.parametrize("source", ["", "\n\n", "# only a comment\n", "   "])
def test_a_file_without_statements_gives_no_blocks(source: str) -> None:
    assert python_blocks(source, Place("s", "m.py")) == []
