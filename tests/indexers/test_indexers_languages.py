"""Blocks of each language besides Python, and a build that no file stops."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from drawn import drawn
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.indexers.code_blocks import CUT, CUT_LINES, LONG_LINE, MINIFIED, code_blocks
from codenav.indexers.code_languages import LANGUAGE_RULES
from codenav.indexers.code_tree import grammar
from codenav.indexers.draft import LONG_VALUE
from codenav.indexers.place import Place
from codenav.indexers.read import Reading, Task, read
from codenav.indexers.walk import Found, language_of

Tree = Callable[[Mapping[str, str | bytes]], Path]
SAMPLES = Path(__file__).parent / "samples"
EXPECTED = Path(__file__).parent / "expected"
NAMES = sorted(path.name for path in SAMPLES.iterdir())


def blocks_of(name: str, text: str) -> list[CodeBlock]:
    blocks, reason = code_blocks(text, Place("/source", name), language_of(name))
    assert blocks is not None and not reason
    assert len({block.id for block in blocks}) == len(blocks)
    return blocks


def sample(name: str) -> list[CodeBlock]:
    return blocks_of(name, (SAMPLES / name).read_text(encoding="utf-8"))


def table(blocks: list[CodeBlock]) -> list[str]:
    """One line per block: kind, qualified name, lines, signature."""
    return [
        f"{block.kind.value} {block.qualname} {block.lines.start}-{block.lines.end} | {block.signature}"
        for block in blocks
    ]


def one(blocks: list[CodeBlock], qualname: str, start: int = 0) -> CodeBlock:
    return next(block for block in blocks if block.qualname == qualname and block.lines.start >= start)


@pytest.mark.parametrize("name", NAMES)
def test_every_definition_of_a_sample(name: str) -> None:
    """The tables in `expected/` name kind, qualified name, lines and signature of each block."""
    assert table(sample(name)) == (EXPECTED / f"{name}.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_lines_and_text_of_a_block_agree_with_its_file(name: str) -> None:
    lines = (SAMPLES / name).read_text(encoding="utf-8").split("\n")
    for block in sample(name):
        first, *_, last = block.text.split("\n") if "\n" in block.text else (block.text, block.text)
        assert first.strip()[:12] in lines[block.lines.start - 1]
        assert last.strip()[-1:] in lines[block.lines.end - 1]
        if block.kind in (BlockKind.FUNCTION, BlockKind.METHOD):
            assert " ".join(block.text.split()) in " ".join("\n".join(lines).split())


@pytest.mark.parametrize("language", sorted(LANGUAGE_RULES))
def test_every_node_of_a_table_is_one_of_the_grammar(language: str) -> None:
    rules = LANGUAGE_RULES[language]
    known = {
        *rules.definitions, *rules.calls, *rules.wrappers, *rules.containers, *rules.imports, *rules.conditionals,
        *rules.comments, *rules.attributes, *rules.modifiers, *rules.ignored, *rules.package_nodes,
    }  # fmt: skip
    loaded = grammar(language).parser.language
    assert loaded is not None
    assert {kind for kind in known if loaded.id_for_node_kind(kind, True) is None} == set()


def test_a_class_shows_its_members_in_short() -> None:
    assert one(sample("shop.js"), "Basket").text == (
        "/** A basket. */\n@observed\nexport class Basket extends Store(Base) {\n  static #count = 0;\n  items = [];\n"
        "  onChange = () => { ... };\n\n  constructor(owner) { ... }\n\n  get size() { ... }\n"
        "  static async *of(...items) { ... }\n  #hidden() {}\n}"
    )
    assert one(sample("pool.rs"), "Pool", 40).text == (
        "impl<T: Job> Drop for Pool<T> {\n    fn drop(&mut self) { ... }\n}"
    )
    account = one(sample("Account.java"), "Account").text
    assert "    interface Listener { ... }\n\n    record Entry(long id, String note) { ... }\n}" in account
    assert "Takes money out" not in account and "ledger" not in account
    parser = one(sample("parser.rb"), "Parsing.Parser").text
    assert "  def initialize(source, strict: true, &block)\n    ...\n  end" in parser


def test_doc_comments_are_docstrings_without_their_marks() -> None:
    assert one(sample("Account.java"), "Account").docstring == "An account.\n\n@author A"
    assert one(sample("shop.js"), "total").docstring == "Adds up the prices.\n\n@param {number[]} prices"
    assert one(sample("shop.js"), "Basket.size").docstring == "How many there are."
    assert one(sample("shop.js"), "stream").docstring == ""
    assert one(sample("pool.rs"), "Pool").docstring == "A pool.\n\nIt works."
    assert one(sample("pool.rs"), "pool").docstring == "A pool of workers.\n\nNothing else."
    assert one(sample("shapes.go"), "Circle").docstring == "Circle is round.\n\nIt has no corners."
    assert one(sample("shapes.go"), "shapes").docstring == "Package shapes measures plane figures."
    assert one(sample("parser.rb"), "Parsing").docstring == "Reads things.\n\n  Parsing.new"
    assert one(sample("Store.cs"), "Store.Add").docstring.strip() == "Adds an item."
    assert one(sample("list.c"), "list_append").docstring == "Appends a value.\n@param list where to"
    assert one(sample("matrix.cpp"), "math.Matrix").docstring == "A matrix."
    assert one(sample("Mailer.php"), "Mailer.send").docstring == "Sends."


def test_attributes_are_part_of_the_text_and_not_of_the_signature() -> None:
    withdraw = one(sample("Account.java"), "Account.withdraw")
    assert '@Override\n@Deprecated(since = "3")\npublic synchronized' in withdraw.text
    send = one(sample("client.ts"), "Client.send")
    assert send.text.startswith("@retry(3)\nasync send(")
    assert one(sample("pool.rs"), "Pool").text.startswith("/// A pool.\n///\n/// It works.\n#[derive(Debug, Clone)]\n")


@pytest.mark.parametrize(
    ("name", "qualname", "calls"),
    [
        ("shop.js", "total", ("rounded", "prices.reduce", "Math.round")),
        ("shop.js", "Basket.constructor", ("super", "Owner")),
        ("client.ts", "Client.send", ("retry", "axios.post", "this.unwrap")),
        ("view.jsx", "Price", ("copy", "format")),
        ("shapes.go", "Circle.Area", ("m.Pow", "square")),
        ("shapes.go", "init", ("fmt.Println", "strings.NewReader", "Len")),
        ("Account.java", "Account.withdraw", ("Runnable", "audit", "ledger.entries", "map", "toList")),
        ("pool.rs", "Pool.new", ("check", "println", "Vec::with_capacity", "into_iter", "collect")),
        ("list.c", "list_append", ("malloc", "list->ops->insert", "MAX")),
        ("matrix.cpp", "main", ("math::Grid", "grid->at")),
        ("matrix.cpp", "math.Matrix.operator+=", ("std::transform", "other.begin")),
        ("Store.cs", "Store.Add", ("items.AddAsync", "ConfigureAwait", "Twice", "Max")),
        ("parser.rb", "Parsing.Parser.initialize", ("Lexer.new", "tokens", "super")),
        ("Mailer.php", "Mailer.send", ("trim", "static::instance", "deliver", "Message", "helper")),
    ],
)
def test_calls_are_named_as_written(name: str, qualname: str, calls: tuple[str, ...]) -> None:
    start = 30 if name == "matrix.cpp" and "operator" in qualname else 0
    assert set(one(sample(name), qualname, start).calls) == set(calls)


@pytest.mark.parametrize(
    ("name", "qualname", "line"),
    [
        ("Account.java", "Account", "import org.example.bank.Account;"),
        ("Account.java", "Account.withdraw", "import org.example.bank.Account;"),
        ("Account.java", "Entity", ""),
        ("Store.cs", "Store.Add", "using Example.Shop;"),
        ("Store.cs", "State", ""),
        ("Mailer.php", "Mailer.send", r"use App\Mail\Mailer;"),
        ("Mailer.php", "help", r"use function App\Mail\help;"),
        ("shapes.go", "Map", ""),
    ],
)
def test_import_lines_where_the_file_says_them(name: str, qualname: str, line: str) -> None:
    assert one(sample(name), qualname).import_line == line


def test_a_header_is_read_as_what_it_holds() -> None:
    assert {block.language for block in sample("list.h")} == {"c"}
    assert {block.language for block in sample("widget.h")} == {"cpp"}


def without(mark: str) -> Callable[[list[str], random.Random], list[str]]:
    def damage(lines: list[str], chance: random.Random) -> list[str]:
        row = chance.choice([row for row, line in enumerate(lines) if mark in line] or [0])
        return [*lines[:row], lines[row].replace(mark, "", 1), *lines[row + 1 :]]

    return damage


def with_conflict_markers(lines: list[str], chance: random.Random) -> list[str]:
    row = chance.randrange(len(lines))
    return [*lines[:row], "<<<<<<< HEAD", *lines[row : row + 5], "=======", ">>>>>>> other", *lines[row + 5 :]]


@pytest.mark.parametrize("name", ["shop.js", "client.ts", "shapes.go", "Account.java", "pool.rs", "list.c",
                                  "matrix.cpp", "Store.cs", "parser.rb", "Mailer.php"])  # fmt: skip
def test_a_damaged_file_keeps_its_definitions(name: str) -> None:
    """At least 90 % of their names: the samples are short, so that one place is a large part of them."""
    source = (SAMPLES / name).read_text(encoding="utf-8")
    kinds = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS)
    wanted = Counter(block.name for block in sample(name) if block.kind in kinds)
    closing = "end" if name.endswith(".rb") else "}"
    total = kept = 0
    for damage in (without(")"), without(closing), without('"'), with_conflict_markers):
        for seed in range(10):
            lines = damage(source.split("\n"), random.Random(seed))
            blocks, _ = code_blocks("\n".join(lines), Place("s", name), language_of(name))
            total += wanted.total()
            kept += (wanted & Counter(block.name for block in blocks or ())).total()
    assert kept / total >= 0.9


OPENED = {
    "a.js": ("function two(x) { call(x, [1, 2 ; return x; }\n", "const LIMIT = '(';\nclass A { f() { call(1) } }\n"),
    "a.ts": ("function two(x: A) {\n  if (x) {\n  return x;\n}\n", "class A {\n  f(z: B) { return call(z); }\n}\n"),
    "a.go": ("func Two(x int) {\n\tcall(x, []int{1, 2\n\treturn\n}\n", "// Three is.\nfunc Three() { call(1) }\n"),
    "a.rs": ("fn two<'a>(x: &'a A) {\n    if x {\n        call(x;\n}\n", "/// Three.\nfn new() { call(1) }\n"),
    "A.java": ("class B {\n    int two() {\n        call(x;\n    }\n", "class C {\n    int f() { call(1); }\n}\n"),
    "a.cpp": ("namespace n {\nint two(A x) {\n    if (x) {\n    call(x);\n}\n", "int three() { call(3); }\n}\n"),
    "a.php": ("<?php\nfunction two($x) {\n    call($x, ['(', 2;\n}\n", "function three() { call(3); }\n"),
}
"""Source that leaves a bracket open, and the definitions after it."""


@pytest.mark.parametrize("name", OPENED)
def test_an_open_bracket_costs_nothing_after_its_definition(name: str) -> None:
    """Against the same file with nothing left open."""
    opened, after = OPENED[name]

    def found(text: str) -> list[tuple[object, ...]]:
        first = opened.count("\n")
        return [
            (block.kind, block.qualname, block.text, block.docstring, block.calls)
            for block in blocks_of(name, text)
            if block.lines.start > first
        ]

    whole = {"a.cpp": "namespace n {\n\n\n\n\n", "a.php": "<?php\n\n\n\n"}.get(name, "\n" * opened.count("\n"))
    assert found(opened + after) == found(whole + after) != []


def test_comments_of_a_damaged_file_define_nothing() -> None:
    source = "/* struct seen by\n   int call(int a)\n*/\nint f(void) {\n    // int g(int x) {\n    return (1;\n}\n"
    assert [block.name for block in blocks_of("a.c", source)] == ["f"]


def test_a_long_table_is_cut_and_statements_are_parted() -> None:
    values = "export const TABLE = [\n" + "  [1, 2, 3],\n" * 5_000 + "];\n"
    (block,) = blocks_of("a.js", values)
    assert len(block.text) <= LONG_VALUE + 2 and block.lines.end == 5_002
    calls = blocks_of("a.js", "".join(f"register('{number}', {{a: 1}});\n" for number in range(1_000)))
    assert len(calls) > 3 and {block.name for block in calls} == {"statements"}
    assert sum(block.text.count("register(") for block in calls) == 1_000


def test_a_minified_file_is_left_out_and_named(tree: Tree) -> None:
    body = "".join(f"function f{number}(a){{return a+{number}}}" for number in range(30_000))
    path = tree({"a.js": f"/* (c) */\n{body}"[:900_000]}) / "a.js"
    assert read_file(path).reason == MINIFIED
    mixed = "function kept() {}\n" * 2_000 + "var x=" + "f();" * LONG_LINE + "\nfunction last() {}\n"
    blocks, reason = code_blocks(mixed, Place("s", "a.js"), "javascript")
    assert blocks and blocks[-1].name == "last" and reason == CUT_LINES


def read_file(path: Path) -> Reading:
    found = path.lstat()
    return read(
        Task(
            Found(path.name, str(path), found.st_size, found.st_mtime_ns, language_of(path.name)),
            Place("s", path.name),
        )
    )


def test_a_file_that_takes_too_long_is_indexed_as_text() -> None:
    source = "int a(void) { return 1; }\n\n" * 2_000
    blocks, reason = code_blocks(source, Place("s", "a.c"), "c", seconds=0.0)
    assert reason == CUT and blocks
    assert "".join(block.text for block in blocks) == source
    assert {block.language for block in blocks} == {"c"}


@pytest.mark.parametrize("content", [b"\xef\xbb\xbfint a;\r\nint f(void) {\r\n}\r\n", b"// caf\xe9\nint f(void) {\n}\n",
                                     b"int f(void) {\f\n}\n", "int f(void) {\n}\n".encode("utf-16")])  # fmt: skip
def test_bytes_of_any_kind_are_read(tree: Tree, content: bytes) -> None:
    reading = read_file(tree({"a.c": content}) / "a.c")
    (block,) = [block for block in reading.blocks or () if block.name == "f"]
    assert (block.signature, block.text) == ("int f(void)", block.text.replace("\r", ""))
    assert read_file(tree({"b.c": b"\0" + content}) / "b.c").reason == "binary"


def test_a_language_whose_parser_is_missing_is_named() -> None:
    """In an interpreter that cannot import the grammar of Go."""
    code = (
        "import sys; sys.modules['tree_sitter_go'] = None\n"
        "from codenav.indexers.code_blocks import code_blocks\n"
        "from codenav.indexers.draft import Place\n"
        "print(code_blocks('package a', Place('s', 'a.go'), 'go'))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "(None, \"no parser for go: pip install 'codenav-agent[languages]'\")\n"


HOSTILE = {
    "open brackets": "[\n" * 200_000,
    "open braces": "void f() {\n" + "{\n" * 200_000,
    "nested functions": "function f() {\n" * 20_000,
    "nested classes": "class A {\n" * 20_000,
    "less than": "a <\n" * 50_000,
    "chain": "x = a" + "\n.f(x)" * 50_000,
    "stars": "/*" + "*\n" * 100_000,
    "comments": "// a\n" * 50_000 + "int f() {}",
}


@pytest.mark.parametrize("language", ["javascript", "java", "c", "ruby"])
@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_survived(language: str, source: str) -> None:
    blocks, _ = code_blocks(source, Place("s", "a"), language, seconds=0.5)
    assert blocks is not None
    lines = source.count("\n") + 1
    assert all(1 <= block.lines.start <= block.lines.end <= lines for block in blocks)


@pytest.mark.parametrize("language", sorted(LANGUAGE_RULES))
@drawn(25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=400), seed=st.integers(0, 2**32))
def test_no_bytes_and_no_mutation_of_a_file_raise(language: str, data: bytes, seed: int) -> None:
    """Random bytes, and real files with pieces cut out, doubled, and random bytes put in."""
    chance = random.Random(seed)
    name = next(path.name for path in sorted(SAMPLES.iterdir()) if language_of(path.name) == language)
    source = (SAMPLES / name).read_bytes()
    for _ in range(chance.randrange(1, 5)):
        first, last = sorted(chance.randrange(len(source) + 1) for _ in range(2))
        middle = chance.choice(
            [b"", data[:20], source[first:last] * 2, bytes(chance.choices(b"{}()<>;\"'`/*#@\n", k=5))]
        )
        source = source[:first] + middle + source[last:]
    for content in (data, source[:100_000]):
        text = content.decode("utf-8", "replace").replace("\r", "\n")
        blocks, cut = code_blocks(text, Place("s", name), language)
        assert blocks is not None or cut
        lines = text.count("\n") + 1
        for block in blocks or ():
            assert 1 <= block.lines.start <= block.lines.end <= lines
            assert block.name and block.qualname and block.text.strip()
