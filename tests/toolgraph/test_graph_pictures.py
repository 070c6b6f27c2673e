"""Pictures of tool graphs: layout, SVG, HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from xml.etree import ElementTree

import pytest
from drawn import drawn
from hypothesis import given
from toolgraph.drawn_graphs import graphs

from codenav.core.errors import NotFound, UsageError
from codenav.toolgraph.graph import EdgeKind, Node, NodeKind, ToolGraph
from codenav.toolgraph.pictures.drawing import html, svg
from codenav.toolgraph.pictures.layout import place
from codenav.toolgraph.pictures.scene import LOOKS, PALETTE, Scene, group_names, labels_of, scene_of

SVG = "{http://www.w3.org/2000/svg}"


def large(count: int) -> ToolGraph:
    """Callables of nine modules; the first of a module are called most."""
    graph = ToolGraph()
    ids = [f"shop.part{number % 9}.call_{number}" for number in range(count)]
    for number, id in enumerate(ids):
        graph.node(id).calls = count // (number + 1)
    for number, id in enumerate(ids):
        for step in (9, 18, 5):
            graph.count(EdgeKind.NEXT, id, ids[(number + step) % count], origin="traces", by=1 + number % 4)
    return graph


@pytest.fixture(scope="module")
def many() -> Scene:
    return scene_of(large(500), "many")


def test_no_two_nodes_of_500_overlap_and_those_of_a_group_lie_together(many: Scene) -> None:
    assert len(many.marks) == 500
    for number, one in enumerate(many.marks):
        assert one.radius <= one.x <= many.width - one.radius and one.radius <= one.y <= many.height - one.radius
        for other in many.marks[:number]:
            assert math.dist((one.x, one.y), (other.x, other.y)) > 0.9 * (one.radius + other.radius)
    same = 0
    for one in many.marks:
        near = sorted(many.marks, key=lambda other: math.dist((one.x, one.y), (other.x, other.y)))[1:4]
        same += sum(other.group == one.group for other in near)
    assert same / (3 * len(many.marks)) > 0.7


def test_labels_are_many_important_first_and_do_not_overlap(many: Scene) -> None:
    placed = labels_of(many)
    assert len(placed) > 150
    assert max(many.marks, key=lambda mark: mark.importance).id in {many.marks[number].id for number, _, _ in placed}
    boxes = [(left, middle, left + 0.56 * 11 * len(many.marks[number].label)) for number, left, middle in placed]
    for number, (left, middle, right) in enumerate(boxes):
        assert left >= 0 and right <= many.width
        for other_left, other_middle, other_right in boxes[:number]:
            assert right <= other_left or other_right <= left or abs(middle - other_middle) >= 10.9


def test_the_same_graph_has_the_same_picture() -> None:
    assert svg(scene_of(large(60), "a")) == svg(scene_of(large(60), "a"))


def test_nodes_at_one_point_are_parted_and_nothing_is_placed_for_nothing() -> None:
    assert place([], [], []).shape == (0, 2)
    assert place([5.0], [0], [(0, 0, 1.0)]).tolist() == [[5.0, 5.0]]
    two = place([50.0, 50.0], [0, 1], [(0, 1, 1.0)])
    assert math.dist(*two) >= 100


def test_a_wider_line_is_a_heavier_edge() -> None:
    graph = ToolGraph()
    for id in "abc":
        graph.node(id)
    graph.count(EdgeKind.NEXT, "a", "b", origin="traces", by=8)
    graph.count(EdgeKind.NEXT, "a", "c", origin="traces", by=1)
    light, heavy = scene_of(graph, "a").lines
    assert (light.weight, heavy.weight) == (0.1, 0.8)
    assert heavy.width > 2 * light.width
    widths = re.findall(r'<path data-e="\d" [^>]*stroke-width="([\d.]+)"', svg(scene_of(graph, "a")))
    assert widths == ["0.9", "3.3"]


def test_groups_are_memberships_else_the_beginnings_of_names() -> None:
    graph = ToolGraph()
    for id in ("shop.cart.add", "shop.cart.drop", "shop.mail.send", "bank.pay", "alone"):
        graph.node(id)
    graph.add_group("teller", ["bank.pay"])
    graph.add_action("order")
    names = group_names(graph, [id for id in graph.nodes if id != "teller"])
    assert names == {
        "shop.cart.add": "shop.cart", "shop.cart.drop": "shop.cart", "shop.mail.send": "shop.mail",
        "bank.pay": "teller", "alone": "", "order": "actions",
    }  # fmt: skip


def test_more_groups_than_colours_share_one() -> None:
    graph = ToolGraph()
    for number in range(30):
        graph.add_group(f"g{number:02}", [f"t{number}", f"u{number}"])
    scene = scene_of(graph, "groups")
    assert [group.colour for group in scene.groups[:-1]] == list(PALETTE)
    assert (scene.groups[-1].name, scene.groups[-1].count) == ("18 smaller groups", 36)
    wide = ToolGraph()
    for number in range(300):
        wide.node(f"p{number}.f")
    assert len(scene_of(wide, "wide", most=50).groups) == 1


def test_the_most_used_nodes_and_heaviest_edges_are_drawn_and_the_rest_is_told() -> None:
    graph = large(40)
    for other in range(1, 9):
        graph.count(EdgeKind.NEXT, "shop.part0.call_0", f"shop.part{other}.call_{other}", origin="traces", by=50)
    scene = scene_of(graph, "few", most=10)
    assert {mark.id.rpartition("_")[2] for mark in scene.marks} >= {"0", "1", "2"}
    assert scene.left_out == "Left out: 30 nodes and 4 lighter edges."
    assert scene.left_out in svg(scene) and scene.left_out in html(scene)


def test_around_a_node_is_what_edges_lead_to() -> None:
    graph = ToolGraph()
    for id in ("m.a", "m.b", "m.c", "m.d"):
        graph.node(id)
    graph.add_group("m", ["m.a"])
    for one, other in (("m.a", "m.b"), ("m.b", "m.c"), ("m.d", "m.c")):
        graph.count(EdgeKind.NEXT, one, other, origin="code")
    assert {mark.id for mark in scene_of(graph, "", around="a").marks} == {"m.a", "m.b"}
    assert {mark.id for mark in scene_of(graph, "", around="b").marks} == {"m.a", "m.b", "m.c"}
    assert {mark.id for mark in scene_of(graph, "", around="m.a", hops=9).marks} == {"m.a", "m.b", "m.c", "m.d"}
    with pytest.raises(NotFound, match=r"no node 'm\.x'"):
        scene_of(graph, "", around="m.x")


def test_nothing_to_draw_is_told() -> None:
    graph = ToolGraph()
    graph.node("g", NodeKind.GROUP)
    with pytest.raises(UsageError, match="nothing to draw"):
        scene_of(graph, "")


HOSTILE = '</script><script>alert(1)</script> & "q" {{data}} \x1b[31m \u202e \ud800 \ufffe 名 __proto__'


@pytest.fixture
def hostile() -> Scene:
    graph = ToolGraph()
    graph.nodes[HOSTILE] = Node(HOSTILE, description=HOSTILE)
    graph.node("b.<img src=x>")
    graph.add_group(HOSTILE + "g", [HOSTILE])
    graph.count(EdgeKind.RESOURCE, HOSTILE, "b.<img src=x>", HOSTILE, origin="specs")
    return scene_of(graph, HOSTILE)


def test_names_from_outside_are_text_in_every_picture(hostile: Scene) -> None:
    picture = svg(hostile)
    tree = ElementTree.fromstring(picture)
    assert [tag for tag in {element.tag for element in tree.iter()} if "script" in tag or "img" in tag] == []
    assert "\x1b" not in picture and "\u202e" not in picture
    page = html(hostile)
    assert page.count("<script") == 2 and page.count("</script") == 2 and "<img" not in page
    assert "\x1b" not in page and "\u202e" not in page


def test_a_long_name_leaves_the_picture_its_size() -> None:
    graph = ToolGraph()
    graph.node("a." + "x" * 3_000)
    scene = scene_of(graph, "long")
    assert scene.width < 1_000 and scene.marks[0].label.count("x") == 39


def test_the_page_is_complete_and_may_run_its_own_script_only(many: Scene) -> None:
    page = html(many)
    assert not re.search(r"(?:src|href)\s*=|@import|url\((?!#head-)|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "{{" not in page.replace("{{data}}", "")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found = json.loads(data)
    assert len(found["nodes"]) == len(re.findall(r"data-n=", page)) == 500
    assert len(found["edges"]) == len(re.findall(r"data-e=", page)) == len(many.lines)
    assert len(page) < 1_000_000


def test_the_script_finds_everything_that_it_asks_for(hostile: Scene) -> None:
    page = html(hostile)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found = json.loads(data)
    asked = set(re.findall(r'(?:byId|getElementById)\("([\w-]+)"\)', script))
    assert asked and asked <= set(re.findall(r'\bid="([\w-]+)"', page))
    for name, rows in (("nodes", found["nodes"]), ("edges", found["edges"]), ("groups", found["groups"])):
        assert rows and name in script
        for key in rows[0].keys() - {"square"}:
            assert f".{key}" in script or f'"{key}"' in script, key
    # The legend has the dashes of the edges.
    assert {kind for kind, row in found["kinds"].items() if row["line"] != "solid"} == {
        kind for kind, look in LOOKS.items() if look.dashes
    }
    assert "borderTopStyle: line" in script
    # Names from outside never become markup.
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


@given(graphs())
@drawn(15)
def test_any_graph_is_drawn_whole(graph: ToolGraph) -> None:
    drawable = {node.id for node in graph.nodes.values() if node.kind in (NodeKind.CALLABLE, NodeKind.ACTION)}
    if not drawable:
        return
    tree = ElementTree.fromstring(svg(scene_of(graph, "any")))
    assert sum("data-n" in element.attrib for element in tree.iter()) == len(drawable)
