"""The commands that show and draw tool graphs, and runs within a part of one."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from command_line import codenav

import codenav as library
from codenav.core import schemas
from codenav.core.blocks import CodeBlock
from codenav.core.errors import NotFound, UsageError
from codenav.toolgraph import storage
from codenav.toolgraph.graph import EdgeKind, ToolGraph
from codenav.toolgraph.scope import GraphScope, limit_index

ACTIONS = """
actions:
  measure:
    description: Find out how large something is.
    tools: [area_of_square, shapes.Box]
    next: {round: 0.3}
  round: {tools: [area_of_circle, gone]}
  dream: {tools: [nowhere.at_all]}
"""
SHAPES = '''
def area_of_circle(radius):
    """The area of a circle."""
    return 3.14159 * radius * radius


def area_of_square(side):
    """The area of a square."""
    return side * side


class Box:
    """A box, with an area."""

    def volume(self, side):
        """The volume, not the area."""
        return side**3
'''


@pytest.fixture
def actions(tmp_path: Path) -> Path:
    path = tmp_path / "actions.yaml"
    path.write_text(ACTIONS)
    return path


@pytest.fixture
def learnt(tmp_path: Path) -> Path:
    graph = ToolGraph()
    for id in ("shop.list", "shop.order", "mail.order"):
        graph.node(id)
    graph.nodes["shop.order"].calls, graph.nodes["shop.order"].successes = 8, 8
    graph.count(EdgeKind.NEXT, "shop.list", "shop.order", origin="traces", by=3)
    graph.count(EdgeKind.RESOURCE, "shop.list", "shop.order", "product", origin="specs")
    storage.write(graph, tmp_path / "shop.json")
    return tmp_path / "shop.json"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "shapes.py").write_text(SHAPES)
    return root


def test_a_graph_is_shown_in_short_and_around_a_node(learnt: Path) -> None:
    whole = codenav("graph", "show", "--graph", learnt)
    assert whole.out.splitlines() == [
        "3 nodes: 3 callable", "2 edges: 1 next, 1 resource", "most used:",
        "  shop.order  usability 0.90, 8 of 8 calls went well", "  shop.list  usability 0.50, never called",
    ]  # fmt: skip
    around = codenav("graph", "show", "--graph", learnt, "shop.order").out.splitlines()
    assert around == [
        "shop.order  usability 0.90, 8 of 8 calls went well",
        "before it:", "  0.75  shop.list  3 times: traces",
        "takes from it alone:", "  0.50  shop.list  (product)  once: specs",
    ]  # fmt: skip
    for arguments in ((), ("list", "--limit", "1")):
        document = codenav("graph", "show", "--graph", learnt, *arguments, "--json").document
        jsonschema.validate(document, schemas.load("graph-show"))
    assert document["node"]["id"] == "shop.list"


@pytest.mark.parametrize("ending", ["html", "SVG"])
def test_a_picture_is_written_in_the_format_of_its_ending(learnt: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"a.{ending}"
    document = codenav("graph", "show", "--graph", learnt, "--out", out, "--json").document
    jsonschema.validate(document, schemas.load("graph-draw"))
    assert (document["nodes"], document["edges"], document["bytes"]) == (3, 2, out.stat().st_size)
    assert out.read_bytes().startswith(b"<!doctype html>" if ending == "html" else b"<svg ")


def test_what_is_wrong_is_one_line_with_what_to_do(learnt: Path, repository: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "a.svg")
    for arguments, said in (
        (("show",), "--on SOURCE"),
        (("show", "--graph", tmp_path / "no.json"), "there is no graph"),
        (("show", "--graph", learnt, "order"), "the name of 2 nodes: mail.order, shop.order"),
        (("show", "--graph", learnt, "shop.ordr"), "did you mean 'shop.order'?"),
        (("show", "--on", repository), f"codenav graph learn --on {repository}"),
        (("show", "--graph", learnt, "--out", tmp_path / "a.gif"), "ends in .html, .svg"),
        (("show", "--graph", learnt, "--out", tmp_path / "a.png"), "a.svg: a browser or rsvg-convert makes one of it"),
        (("show", "--graph", learnt, "--out", tmp_path / "no" / "a.svg"), "there is no folder"),
        (("show", "--graph", learnt, *out, "nobody"), "no node 'nobody'"),
    ):
        ran = codenav("graph", *arguments)
        assert ran.code == 2, (arguments, ran.err)
        assert said in ran.err and "Traceback" not in ran.err and ran.out == ""
        assert [line.partition(": ")[0] for line in ran.err.splitlines()] == ["Error", "Try"], ran.err
    ran = codenav("graph", "show", "--graph", learnt, *out, "--hops", "2")
    assert (ran.code, ran.out) == (2, "") and "--hops goes with NAME and --out FILE." in ran.err


def test_a_run_within_an_action_finds_what_is_recommended(repository: Path, actions: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.actions"
    script.write_text(
        "<action><type>search</type><content>area\nname: area_of_circle</content></action>\n"
        "<action><type>done</type><content>yes</content></action>"
    )

    def found(*arguments: str) -> tuple[list[int], set[str], str]:
        ran = codenav(
            "run", "How large?", "--on", repository, "--model", f"scripted:{script}", "--sandbox", "process", "--json",
            *arguments,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        assert (
            "Searches find only what is of use at this stage: area_of_square, shapes.Box" in ran.document["description"]
        )
        results = ran.document["steps"][0]["observation"]
        names = {hit["qualname"] for result in results for hit in result["hits"]}
        return [result["total"] for result in results], names, ran.err

    within = ("--set", f"graph.file={actions}", "--set", "graph.within=measure")
    assert found(*within)[:2] == ([3, 0], {"Box", "Box.volume", "area_of_square"})
    totals, wider, told = found(*within, "--set", "graph.hops=1", "--set", "graph.threshold=0.3")
    assert (totals, wider) == ([4, 1], {"Box", "Box.volume", "area_of_circle", "area_of_square"})
    assert "not in the sources, of the tools that are recommended: gone" in told


def test_a_part_that_cannot_be_searched_is_told_before_the_run(repository: Path, actions: Path) -> None:
    for settings, said in (
        (("within=measure",), "graph.within and graph.file go together"),
        (("within=mesure", f"file={actions}"), "did you mean 'measure'?"),
        (("within=dream", f"file={actions}"), "the sources have none of the tools"),
        (("within=measure", "hops=-1", f"file={actions}"), "graph.hops in --set"),
    ):
        arguments = [word for one in settings for word in ("--set", f"graph.{one}")]
        model = ("--model", "any", "--base-url", "http://127.0.0.1:9/v1")
        ran = codenav("run", "How large?", "--on", repository, "--sandbox", "process", *model, *arguments)
        assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err, ran.err


def test_a_limited_index_counts_and_gives_what_may_be_found(repository: Path) -> None:
    with library.index(repository) as index:
        for tool, names in (
            ("shapes", {"area_of_circle", "area_of_square", "Box", "Box.volume"}),
            ("volume", {"Box.volume"}),
            ("shapes.area_of_square", {"area_of_square"}),
        ):
            assert {block.qualname for block in limit_index(index, [index], [tool]).blocks()} == names
        with pytest.raises(UsageError, match="none of the tools"):
            limit_index(index, [index], ["quare"])
        part = limit_index(index, [index], ["shapes.Box"])
        assert [block.qualname for block in part.blocks()] == ["Box", "Box.volume"]
        found = part.search("area", limit=1)
        assert (len(found), found.total) == (1, 2)
        other = next(block for block in index.blocks() if block.name == "area_of_circle")
        assert part.get(other.id) is None and isinstance(part.get(found[0].id), CodeBlock)
        assert part.stats() == index.stats()


def test_a_tool_may_be_named_as_it_is_imported_or_as_its_specification_has_it(tmp_path: Path) -> None:
    shop = tmp_path / "code/shop"
    shop.mkdir(parents=True)
    (shop / "__init__.py").write_text("from shop.boxes import Box, fill\n")
    (shop / "boxes.py").write_text("class Box:\n    def put(self): ...\n\n\ndef fill(): ...\n")
    (shop / "more.py").write_text("def fill(x): ...\n")
    told: list[str] = []
    with library.index(tmp_path / "code") as index:
        part = limit_index(index, [index], ["shop.Box", "shop.fill", "shop.no"], tell=told.append)
        assert {(block.path, block.qualname) for block in part.blocks()} == {
            ("shop/boxes.py", name) for name in ("Box", "Box.put", "fill")
        }  # fmt: skip
    assert told == ["not in the sources, of the tools that are recommended: shop.no"]
    spec = Path(__file__).parents[1] / "data" / "tools" / "shop.yaml"
    with library.index(f"openapi:{spec}") as index:
        [block] = limit_index(index, [index], ["createOrder"]).blocks()
        assert block.name == "create_order"


def test_within_takes_a_graph_as_it_is() -> None:
    graph = ToolGraph()
    graph.add_action("measure")
    graph.add_tool("area", [("measure", 0.4)])
    assert GraphScope("measure", graph, threshold=0.4).tools() == ["area"]
    with pytest.raises(UsageError, match="no tool is recommended within measure"):
        GraphScope(["measure"], graph).tools()
    with pytest.raises(NotFound, match="no action 'area'"):
        GraphScope("area", graph).tools()


def test_a_node_by_the_name_that_its_package_offers(tmp_path: Path) -> None:
    package = tmp_path / "kit"
    package.mkdir()
    (package / "__init__.py").write_text("from ._inner import cut as slice_up\n")
    (package / "_inner.py").write_text("def cut(x):\n    return peel(x)\n\n\ndef peel(x):\n    return x\n")
    (tmp_path / "test_kit.py").write_text(
        "from kit import slice_up\nfrom kit._inner import peel\n\n\ndef test_all():\n    assert slice_up(peel(1))\n"
    )
    assert codenav("graph", "learn", "--on", tmp_path).code == 0
    shown = codenav("graph", "show", "--on", tmp_path, "kit.slice_up")
    assert (shown.code, shown.out.split("  ")[0]) == (0, "kit._inner.cut")
    assert "no node 'kit.nothing'" in codenav("graph", "show", "--on", tmp_path, "kit.nothing").err
