"""What a person means by the name of a block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import codenav
from codenav.core.errors import Ambiguous, NotFound
from codenav.retrieval.source_index import SourceIndex


def places(blocks: list[codenav.CodeBlock]) -> list[tuple[str, int]]:
    return [(block.path, block.lines.start) for block in blocks]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Store.get", [("shop/store.py", 11)]),
        ("store.Store.get", [("shop/store.py", 11)]),
        ("shop.store.Store.get", [("shop/store.py", 11)]),
        ("Store::get", [("shop/store.py", 11)]),
        ("Store#get", [("shop/store.py", 11)]),
        ("cancel()", [("shop/orders.py", 25)]),
        ("store.get", [("shop/store.py", 11)]),
        ("shop.Store", [("shop/store.py", 10)]),
        ("shop.place", [("shop/orders.py", 7)]),
        ("place.inner", [("shop/orders.py", 10)]),
        ("Store.size", [("shop/store.py", 18), ("shop/store.py", 22)]),
        ("shop/orders.py:11", [("shop/orders.py", 10)]),
        ("orders.py:12", [("shop/orders.py", 7)]),
        ("./shop/orders.py:12:5", [("shop/orders.py", 7)]),
        ("shop/orders.py:9-12", [("shop/orders.py", 7)]),
        ("Guide > Ordering", [("docs/guide.md", 5)]),
        ("  Store.get\n", [("shop/store.py", 11)]),
    ],
)  # fmt: skip
def test_a_block_by_name_and_by_place(shop_index: SourceIndex, asked: str, expected: list[tuple[str, int]]) -> None:
    assert places(codenav.show(asked, on=shop_index)) == expected


def test_a_block_by_its_id_and_by_an_absolute_path(shop_index: SourceIndex, shop: Path) -> None:
    (block,) = codenav.show("cancel", on=shop_index)
    assert codenav.show(block.id, on=shop_index) == [block]
    assert codenav.show(f"{shop}/shop/orders.py:26", on=shop_index) == [block]


def test_a_name_of_several_is_refused_with_a_list_of_them(shop_index: SourceIndex) -> None:
    with pytest.raises(Ambiguous) as caught:
        codenav.show("place", on=shop_index)
    candidates = caught.value.candidates
    # The one that the package exports, then the helper of the tests.
    assert places(list(candidates)) == [("shop/orders.py", 7), ("shop/tests/test_orders.py", 8)]
    assert caught.value.exit_code == 2
    for block in candidates:
        assert block.id in str(caught.value)
        assert f"{block.path}:{block.lines.start}" in str(caught.value)
    with pytest.raises(Ambiguous, match="get names 2 blocks"):
        codenav.show("get", on=shop_index)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("Store.gett", "did you mean Store.get"),
        ("plce", "did you mean place"),
        ("Store.zzz", "codenav search"),
        ("", "codenav search"),
        ("***", "codenav search"),
        ("0123456789abcdef", "codenav search"),
        ("shop/orders.py:3000", "the nearest: codenav show shop/orders.py:29-30"),
        ("nowhere.py:3", "codenav search"),
        ("\ud800 \0", "codenav search"),
        ("a." * 40_000, "codenav search"),
    ],
)  # fmt: skip
def test_what_is_not_there_has_a_hint(shop_index: SourceIndex, asked: str, hint: str) -> None:
    with pytest.raises(NotFound) as caught:
        codenav.show(asked, on=shop_index)
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_several_sources_are_looked_through(shop_index: SourceIndex, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "extra.py").write_text("def only_here(): ...\n\n\ndef cancel(): ...\n")
    with codenav.index(tmp_path / "more") as more:
        assert places(codenav.show("only_here", on=[shop_index, more])) == [("extra.py", 1)]
        with pytest.raises(Ambiguous) as caught:
            codenav.show("cancel", on=[shop_index, more])
    assert {block.source for block in caught.value.candidates} == {shop_index.source.name, more.source.name}


def test_a_package_exports_one_of_several(networkx: SourceIndex) -> None:
    with pytest.raises(Ambiguous) as caught:
        codenav.show("shortest_path", on=networkx)
    first, *others = caught.value.candidates
    assert first.path == "networkx/algorithms/shortest_paths/generic.py"
    assert [block.path for block in others] == ["networkx/algorithms/threshold.py"]
    assert codenav.show("networkx.shortest_path", on=networkx) == [first]
    assert codenav.show("networkx.Graph", on=networkx)[0].path == "networkx/classes/graph.py"


def test_every_line_of_a_file_is_in_the_block_that_the_standard_parser_finds(networkx: SourceIndex) -> None:
    import ast

    path = "networkx/classes/graph.py"
    source = (networkx.source.root / path).read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            (block,) = codenav.show(f"{path}:{node.lineno}", on=networkx)
            assert block.name == node.name
            assert block.lines.end == node.end_lineno


PARTS = {
    "app/conf.py": """from enum import Enum

square = lambda x: x * x
first = second = 1
if True:
    fast = lambda: 1


@dataclass
class Config(Base):
    size: int = 1

    def run(
        self,
    ):
        return self.size

    def stop(self): ...

    timeout: float = field(
        default=30,
    )
    \"\"\"Seconds.\"\"\"


class Color(Enum):
    RED = 1
    GREEN, BLUE = 2, 3


class Base:
    retries: int = 3

    def size(self):
        return 2
""",
    "app/other.py": "def run():\n    return 1\n",
    "lib.js": "function one() {}\nmodule.exports = { one, LIMIT: 3, twice: (x) => 2 * x };\n",
    "main.js": "module.exports = function create() {};\n",
    "conf.ts": "export interface Options {\n  // timeout: no\n  timeout?: number;\n}\n",
    "conf.go": 'package conf\n\ntype Server struct {\n\tName, Host string\n\tPort int `json:"port"`\n}\n',
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SourceIndex]:
    root = tmp_path_factory.mktemp("parts")
    for name, text in PARTS.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    with codenav.index(root) as index:
        yield index


@pytest.mark.parametrize(
    ("asked", "qualname", "text", "lines"),
    [
        ("square", "square", "square = lambda x: x * x", (3, 3)),
        ("second", "second", "first = second = 1", (4, 4)),
        ("conf.fast", "fast", "fast = lambda: 1", (6, 6)),
        ("Config.timeout", "Config.timeout",
         'timeout: float = field(\n    default=30,\n)\n"""Seconds."""', (20, 23)),
        ("app/conf.py::Config.size", "Config.size", "size: int = 1", (11, 11)),
        ("Config.retries", "Base.retries", "retries: int = 3", (32, 32)),
        ("conf.Color.BLUE", "Color.BLUE", "GREEN, BLUE = 2, 3", (28, 28)),
        ("twice", "exports.twice", "twice: (x) => 2 * x", (2, 2)),
        ("lib.js::LIMIT", "exports.LIMIT", "LIMIT: 3", (2, 2)),
        ("create", "create", "module.exports = function create() {};", (1, 1)),
        ("Options.timeout", "Options.timeout", "timeout?: number", (1, 4)),
        ("Server.Host", "Server.Host", "Host string", (3, 6)),
        ("Server.Port", "Server.Port", 'Port int `json:"port"`', (3, 6)),
    ],
)  # fmt: skip
def test_a_name_that_is_part_of_a_block(
    parts: SourceIndex, asked: str, qualname: str, text: str, lines: tuple[int, int]
) -> None:
    (block,) = codenav.show(asked, on=parts)
    assert (block.qualname, block.text, tuple(block.lines.to_list())) == (qualname, text, lines)


def test_a_field_has_its_docstring_and_the_import_line_of_its_class(parts: SourceIndex) -> None:
    (block,) = codenav.show("Config.timeout", on=parts)
    assert (block.docstring, block.import_line) == ("Seconds.", "from app.conf import Config")
    (owner,) = codenav.show("Config", on=parts)
    assert block.id == owner.id
    with pytest.raises(NotFound):
        codenav.show("Config.nothing", on=parts)


@pytest.mark.parametrize(
    "asked", ["app/conf.py::Config.run", "conf.py::run", "app/conf.py::Config::run", "./app::Config.run"]
)
def test_a_name_is_pinned_to_a_file_or_a_folder(parts: SourceIndex, asked: str) -> None:
    (block,) = codenav.show(asked, on=parts)
    assert (block.path, block.qualname) == ("app/conf.py", "Config.run")
    assert codenav.callees(asked, on=parts).total == 0
    assert codenav.callers(asked, on=parts).targets == [block]


def test_a_function_is_shown_with_the_methods_of_its_name(parts: SourceIndex) -> None:
    found = codenav.show("run", on=parts)
    assert [block.path for block in found] == ["app/other.py"]
    assert [block.qualname for block in found.others] == ["Config.run"]
    assert not codenav.show("Config.run", on=parts).others


def test_an_instance_at_module_level_is_shown_with_the_methods_of_its_class(tmp_path: Path) -> None:
    (tmp_path / "geo").mkdir()
    (tmp_path / "geo/__init__.py").write_text(
        "from . import db\nfrom .db import levels\n\ncountries: db.Table = db.Table('x')\n"
    )
    (tmp_path / "geo/db.py").write_text(
        "class Base:\n    def lookup(self, x): ...\n\n    def __call__(self): ...\n\n\n"
        "class Table(Base):\n    def __init__(self, x): ...\n\n"
        "    def get(self, *, alpha=None): ...\n\n\nlevels = Base()\nsize = len([])\n"
    )
    with codenav.index(tmp_path) as index:
        for name, owner, methods in (
            ("geo.countries", "Table", ["Table.get", "Base.lookup", "Base.__call__"]),
            ("geo.levels", "Base", ["Base.lookup", "Base.__call__"]),
        ):
            found = codenav.show(name, on=index)
            assert found.instance_of and found.instance_of.qualname == owner
            assert [block.qualname for block in found.methods] == methods
        assert codenav.show("geo.db.size", on=index).instance_of is None


OTHERS = {
    "js/package.json": '{"name": "p", "type": "module", "exports": "./index.js"}',
    "js/index.js": "export { default } from './lib/make.js'\nexport { Shape } from './lib/shape.js'\n",
    "js/lib/make.js": "import { Shape } from './shape.js'\nexport default function createShape() {}\n"
    "createShape.Shape = Shape\n",
    "js/lib/shape.js": "/** A shape of round things. */\nexport class Shape { area() {} }\n",
    "js/dist/index.js": "/** A shape of round things, built. */\nclass Shape { area() {} grow() {} }\n",
    "rs/Cargo.toml": '[package]\nname = "kit"\n',
    "rs/src/lib.rs": "mod inner;\npub use inner::spawn;\npub fn main() {\n    inner::spawn();\n}\n",
    "rs/src/inner.rs": "pub fn spawn() {}\n",
    "rs/src/other.rs": "pub fn spawn() {}\n",
}


def test_public_names_of_other_languages(tmp_path: Path) -> None:
    for name, text in OTHERS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with codenav.index(tmp_path) as index:
        for asked, path, qualname in [
            ("p", "js/lib/make.js", "createShape"),
            ("p.Shape", "js/lib/shape.js", "Shape"),
            ("p.Shape.area", "js/lib/shape.js", "Shape.area"),
            ("kit::spawn", "rs/src/inner.rs", "spawn"),
            ("kit.spawn", "rs/src/inner.rs", "spawn"),
        ]:
            (block,) = codenav.show(asked, on=index)
            assert (block.path, block.qualname) == (path, qualname), asked
        assert [found.block.qualname for found in codenav.callers("kit::spawn", on=index)] == ["main"]
        # The twin that nobody is offered comes after it.
        found = [hit.path for hit in index.search("shape of round things") if hit.kind == "CLASS"]
        assert found == ["js/lib/shape.js", "js/dist/index.js"]
        (private, public) = sorted(codenav.search("name: spawn", on=index), key=lambda hit: hit.public_name)
        assert (private.public_name, public.import_line) == ("", "use kit::spawn;")
