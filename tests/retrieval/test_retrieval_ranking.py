"""Known-item search on a real package, the order of hits, and what is said of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import codenav
from codenav.core.blocks import BlockKind, CodeBlock, FileChange
from codenav.retrieval import analysis
from codenav.retrieval.documents import worth
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import block, change


def _prefix(name: str) -> str:
    return name[: max(3, -(-len(name) * 2 // 3))] + "*"


FORMS: dict[str, tuple[Callable[[str], str], float]] = {
    "exact": (lambda name: name, 1.0),
    "words": (lambda name: " ".join(analysis.part_tokens(name)), 0.92),
    "prefix": (_prefix, 0.85),
}
"""How an item is asked for, and the least share that must be among the first three hits."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [BlockKind.FUNCTION, BlockKind.CLASS, BlockKind.METHOD])
def test_known_items_are_among_the_first_three(
    networkx_index: EmbeddedIndex, networkx_changes: list[FileChange], kind: BlockKind, form: str
) -> None:
    blocks = [block for change in networkx_changes for block in change.blocks or ()]
    count = Counter(block.name for block in blocks)
    unique = [block for block in blocks if block.kind is kind and count[block.name] == 1 and len(block.name) >= 5]
    sample = random.Random(11).sample(sorted(unique, key=lambda block: block.id), 50)
    ask, floor = FORMS[form]
    for frame in ("{}", f"(type: {kind}) AND (text: ({{}}))"):
        asked = {frame.format(ask(block.name)): block.id for block in sample}
        missed = [query for query, id in asked.items() if id not in _first_three(networkx_index, query)]
        assert len(missed) <= round((1 - floor) * len(sample)), missed


def _first_three(index: EmbeddedIndex, query: str) -> list[str]:
    return [hit.id for hit in index.search(query, limit=3)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("shortest path between two nodes", "shortest_path"),
        ("(type: FUNCTION) AND shortest path", "shortest_path"),
        ("node with the highest betweenness centrality", "betweenness_centrality"),
        ("karate club graph", "karate_club_graph"),
        ("page rank", "pagerank"),
        ("Graph.add_node", "Graph.add_node"),
        ("type:CLASS AND graph", "Graph"),
        ("def read_gexf(path", "read_gexf"),
    ],
)
def test_what_a_reader_would_expect_first(networkx_index: EmbeddedIndex, query: str, wanted: str) -> None:
    assert networkx_index.search(query)[0].qualname == wanted


def test_a_prefix_finds_every_identifier_that_begins_with_it(
    networkx_index: EmbeddedIndex, networkx_changes: list[FileChange]
) -> None:
    def begins(block: CodeBlock) -> bool:
        words = analysis.words(f"{block.qualname} {block.text}")
        return any(
            token.startswith("detect") for word in words for token in (word.lower(), *analysis.part_tokens(word))
        )

    wanted = {
        block.id
        for change in networkx_changes
        for block in change.blocks or ()
        if block.kind is BlockKind.FUNCTION and begins(block)
    }
    result = networkx_index.search("(type: FUNCTION) AND (text: detect*)", limit=10_000)
    assert len(wanted) > 10
    assert {hit.id for hit in result} == wanted
    assert result.total == len(wanted)


@pytest.mark.parametrize("query", ["graph", "*path*", "type:METHOD", "NOT graph", "node OR edge", "lines:[1 TO 50]"])
def test_pages_are_parts_of_one_order(networkx_index: EmbeddedIndex, query: str) -> None:
    whole = [(hit.id, hit.score) for hit in networkx_index.search(query, limit=100_000)]
    assert len(whole) == networkx_index.search(query, limit=1).total == len(set(whole))
    for limit in (1, 10, 100, 1000):
        assert [(hit.id, hit.score) for hit in networkx_index.search(query, limit=limit)] == whole[:limit]
    assert [score for _, score in whole] == sorted((score for _, score in whole), reverse=True)


def test_kinds_and_places_that_are_rarely_meant_come_last() -> None:
    ordered = [
        block("x", "lib/a.py"),
        block("x", "lib/a.py", kind="CONDITIONAL"),
        block("x", "lib/a.py", kind="ASSIGNMENT"),
        block("x", "tests/test_a.py"),
        block("x", "lib/a.py", kind="IMPORT"),
        block("x", "tests/test_a.py", kind="IMPORT"),
    ]
    assert [worth(block) for block in ordered] == sorted((worth(block) for block in ordered), reverse=True)
    for path in ("conftest.py", "a/tests/b.py", "test_x.py", "lib/_vendor/x.py", "node_modules/a.js", "x_test.py"):
        assert worth(block("x", path)) < 1, path
    for path in ("contest.py", "latest/b.py", "attestation.py", "lib/vendors.py", "testament.py"):
        assert worth(block("x", path)) == 1, path


def test_a_test_or_an_import_that_was_named_is_not_hidden(networkx_index: EmbeddedIndex) -> None:
    assert networkx_index.search("TestPageRank")[0].name == "TestPageRank"
    assert networkx_index.search("type:IMPORT AND numpy")[0].kind is BlockKind.IMPORT
    assert networkx_index.search("__all__")[0].kind is BlockKind.ASSIGNMENT


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("load_model", "name: exact"),
        ('"load model"', "name: part"),
        ("load", "name: part"),
        ("load_m", "name: part"),
        ("*d_mod*", "name: part"),
        ("lod~1", "name: part"),
        ("name:/load.*/", "name: part"),
        ("weights", "text"),
        ("/weig.*/", "text"),
        ("doc:disk", "doc"),
        ("type:FUNCTION", "type"),
        ("type:FUNCTION AND file_path:a.py AND lines:[1 TO 2]", "type, file_path, lines"),
        ("type:FUNCTION AND weights", "text"),
        ("NOT nothing", "everything"),
        ("*", "everything"),
    ],
)
def test_why_a_block_matched(tmp_path_factory: pytest.TempPathFactory, query: str, why: str) -> None:
    index = EmbeddedIndex(tmp_path_factory.mktemp("why"), source="check")
    text = 'def load_model():\n    "From disk."\n    return weights'
    one = CodeBlock(**{**_fields(block("load_model", text=text)), "docstring": "From disk."})
    index.apply([change("a.py", one)])
    hit = index.search(query)[0]
    assert hit.why == why
    assert hit.to_dict()["why"] == why


def _fields(one: CodeBlock) -> dict[str, object]:
    return {name: getattr(one, name) for name in CodeBlock.__dataclass_fields__}


def test_text_is_not_loaded_for_ranking(networkx_index: EmbeddedIndex) -> None:
    hit = networkx_index.search("name:karate_club_graph", limit=1)[0]
    assert (hit.kind, hit.path, len(hit.id)) == (BlockKind.FUNCTION, "networkx/generators/social.py", 16)
    assert hit._block is None
    assert hit.why == "name: exact"
    assert hit._block is not None


def test_calls_are_found_by_their_whole_and_their_last_name(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path / "index", source="check")
    called = {"one": ("np.linalg.norm", "Resize"), "two": (".fit", "self.resize"), "three": ()}
    blocks = [replace(block(name, line=line), calls=calls) for line, (name, calls) in enumerate(called.items(), 1)]
    index.apply([change("a.py", *blocks)])
    for query, found in {
        "calls:np.linalg.norm": ["one"],
        "calls:norm": ["one"],
        "calls:resize": ["one", "two"],
        "calls:fit": ["two"],
        "calls:self.resize": ["two"],
        "calls:*size AND NOT calls:fit": ["one"],
        "calls:linalg": [],
        "calls:*": ["one", "two"],
    }.items():
        assert [hit.name for hit in index.search(query)] == found, query


@pytest.mark.parametrize("query", ["entries of a ledger", "ledger entry"])
def test_methods_do_not_crowd_out_their_class(tmp_path: Path, query: str) -> None:
    text = 'class Book:\n    """Pages in order; holds what each entry of the ledger is."""\n\n'
    for verb in ("add", "drop", "find", "list", "move", "copy", "load", "save", "sort", "sum"):
        text += f'    def {verb}_ledger_entry(self, entry):\n        """{verb.title()} an entry of the ledger."""\n\n'
    (tmp_path / "book.py").write_text(text)
    with codenav.index(tmp_path) as index:
        found = [hit.block.qualname for hit in index.search(query)]
    assert found.index("Book") == 2
    assert len(found) == 11
