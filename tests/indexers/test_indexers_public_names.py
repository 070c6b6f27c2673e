"""Public names: the shortest name under which a package offers what it defines, re-exports resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from codenav.core.system.interpreter import Interpreter
from codenav.indexers.build import build
from codenav.indexers.sources import resolve

Tree = Callable[[Mapping[str, str | bytes]], Path]

FILES = {
    "an import": {
        "p/__init__.py": "from p.deep.inner import area",
        "p/deep/__init__.py": "",
        "p/deep/inner.py": "def area(): ...",
    },
    "several hops, one by another name": {
        "p/__init__.py": "from ._a import shown as area\n",
        "p/_a.py": "from p._b import *\nfrom p._b import _area as shown\n",
        "p/_b.py": "def _area(): ...\n",
    },
    "a star and a joined __all__": {
        "p/__init__.py": "from . import a\nfrom .a import *\n__all__ = ['other']\n__all__ += a.__all__\n",
        "p/a.py": "__all__ = ['area']\nfrom p._b import area, volume\n",
        "p/_b.py": "def area(): ...\ndef volume(): ...\n",
    },
    "a cycle": {
        "p/__init__.py": "from .a import *\n",
        "p/a.py": "from .b import *\nfrom .b import area\n",
        "p/b.py": "from .a import *\ndef area(): ...\n",
    },
    "an attempt": {
        "p/__init__.py": "try:\n    from p._fast import area\nexcept ImportError:\n    from p._slow import area\n",
        "p/_slow.py": "def area(): ...\n",
    },
    "lazy_loader": {
        "p/__init__.py": "import lazy_loader as lazy\n\n"
        "__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={'_b': ['area']})\n",
        "p/_b.py": "def area(): ...\n",
    },
    "lazy_loader with a stub": {
        "p/__init__.py": "import lazy_loader as lazy\n"
        "__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)\n",
        "p/__init__.pyi": "from ._b import area as area\n",
        "p/_b.py": "def area(): ...\n",
    },
    "a table for __getattr__": {
        "p/__init__.py": "_homes = {'area': (__spec__.parent, '._b')}\n"
        "_deprecated_names = {'volume': '_b'}\n\n\ndef __getattr__(name): ...\n",
        "p/_b.py": "def area(): ...\ndef volume(): ...\n",
    },
    "imports for type checkers, of a lazy module": {
        "p/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ._b import *\nelse:\n"
        "    import sys\n    sys.modules[__name__] = make()\n",
        "p/_b.py": "__all__ = ['area']\ndef area(): ...\ndef volume(): ...\n",
    },
    "another name by assignment": {
        "p/__init__.py": "from . import _b\narea = _b._area\n",
        "p/_b.py": "def _area(): ...\n",
    },
    "a private package behind a public one": {
        "p/__init__.py": "from _p.shapes import area\n\n__all__ = ['area']\n",
        "_p/__init__.py": "",
        "_p/shapes.py": "def area(): ...\n",
    },
    "a stub beside what takes compiled code": {
        "p/__init__.py": "from p.shapes import area\n",
        "p/shapes.py": "try:\n    from p.shapes_c import area\nexcept ImportError:\n    from p.shapes_py import area\n",
        "p/shapes.pyi": "def area() -> float: ...\n",
        "p/shapes_py.py": "def area(): ...\n",
    },
}
"""Packages that make `p.area` of a function, and nothing public of any `volume`."""


@pytest.mark.parametrize("how", FILES)
def test_what_a_package_offers(how: str, index: Any, interpreter: Interpreter, tree: Tree) -> None:
    build(resolve(str(tree({"setup.py": "", **FILES[how]})), interpreter), index)
    functions = [block for block in index.blocks if block.kind == "FUNCTION" and block.name.strip("_") == "area"]
    (offered,) = [block for block in functions if block.public_name]
    assert (offered.public_name, offered.import_line) == ("p.area", "from p import area")
    assert offered.expression == "area"
    assert not [block.public_name for block in index.blocks if block.name == "volume" and block.public_name]


def test_what_is_private(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    module = "__all__ = ['Shape']\nclass Shape:\n    def area(self): ...\n    def _side(self): ...\ndef helper(): ..."
    files = {
        "p/__init__.py": "",
        "p/m.py": module,
        "p/_n.py": "def hidden(): ...",
        "p/tests/test_m.py": "def shown(): ...",
    }
    build(resolve(str(tree(files)), interpreter), index)
    names = {block.qualname: (block.public_name, block.module, block.import_line) for block in index.blocks}
    assert names["Shape.area"] == ("p.m.Shape.area", "p.m", "from p.m import Shape")
    assert names["Shape._side"] == ("", "p.m", "from p.m import Shape")
    assert names["helper"] == ("", "p.m", "from p.m import helper")
    assert names["hidden"] == ("", "p._n", "from p._n import hidden")
    assert names["shown"][0] == ""


def test_a_script_that_imports_all_of_the_module_beside_it(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    files = {"setup.py": "", "geometry.py": "def area(): ...", "geo.py": "from geometry import *\n"}
    build(resolve(str(tree(files)), interpreter), index)
    assert [block.public_name for block in index.blocks if block.name == "area"] == ["geometry.area"]


def test_a_package_that_begins_to_offer_a_name(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    root = tree({"p/__init__.py": "", "p/_a.py": "def area(): ...", "p/_b.py": "def side(): ..."})
    source = resolve(str(root), interpreter)
    build(source, index)
    (root / "p/__init__.py").write_text("from ._a import area\n")
    report = build(source, index)
    assert [block.public_name for block in index.blocks if block.name in ("area", "side")] == ["p.area", ""]
    assert report.reused_files == 1
    assert build(source, index).reused_files == 3
