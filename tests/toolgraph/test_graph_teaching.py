"""`codenav graph learn`: traces from files, the code of a source, and the episodes of the store."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from command_line import codenav

from codenav.core import schemas
from codenav.core.config import episodes_dir
from codenav.core.errors import NotFound, UsageError
from codenav.core.events import RunEnded, RunStarted, Status
from codenav.core.traces import Trace, TracedCall
from codenav.navigation.verbs import indexes_of
from codenav.toolgraph.callables import CallableNames
from codenav.toolgraph.folders import GraphFolder, graphs_dir
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.nodes import EdgeKind
from codenav.toolgraph.teaching import teach
from codenav.tools import weights

SHOP = {
    "shop/__init__.py": "from shop.boxes import Box, fill\n",
    "shop/boxes.py": "class Box:\n    def put(self, thing): ...\n\n\ndef fill(box, things):\n    return box\n",
    "shop/more.py": "def fill(x): ...\n\n\ndef weigh(box: int): ...\n",
    "tests/test_boxes.py": "from shop import Box, fill\n\n\ndef test_fill():\n    fill(Box(), [1]).put(2)\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return written(tmp_path / "code", SHOP)


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def graph() -> ToolGraph:
    [folder] = graphs_dir().iterdir()
    return GraphFolder(folder).read().graph


def edges(kind: EdgeKind, origin: str = "") -> set[tuple[str, ...]]:
    return {
        (key.source.removeprefix("shop."), key.target.removeprefix("shop."), *filter(None, [key.resource]))
        for key, edge in graph().edges.items()
        if key.kind is kind and (not origin or origin in edge.origins)
    }


def lines(file: Path, *traces: Trace | str) -> Path:
    file.write_text("".join((one if isinstance(one, str) else json.dumps(one.to_dict())) + "\n" for one in traces))
    return file


ORDER = Trace("t1", (TracedCall("shop.Box"), TracedCall("weigh", seconds=2.0, takes={"box": 0})), "How heavy is it?")


def test_code_is_learnt_and_replaced_by_what_it_is_now(shop: Path) -> None:
    taught = teach(shop)
    assert (taught.tests, taught.nodes, taught.traces) == (1, 3, 0)
    assert edges(EdgeKind.NEXT) == {("boxes.Box", "boxes.fill"), ("boxes.fill", "boxes.Box.put")}
    assert edges(EdgeKind.RESOURCE) == {("boxes.Box", "boxes.fill", "box"), ("boxes.fill", "boxes.Box.put", "self")}
    assert all(node.calls == 0 for node in graph().nodes.values()), "what was read was not seen to work"
    before = graph()
    teach(shop)
    assert graph() == before
    (shop / "tests/test_boxes.py").write_text("import shop\n\n\ndef test_put():\n    shop.Box().put(2)\n")
    teach(shop)
    assert edges(EdgeKind.NEXT) == {("boxes.Box", "boxes.Box.put")}
    teach(shop, forgetting=True)
    assert not graph().nodes


def test_the_code_of_another_source_teaches_what_it_calls(shop: Path, tmp_path: Path) -> None:
    files = {
        "examples/a.py": "import shop\nfrom helpers import help\nb = shop.Box()\nhelp(b)\nb.put(3)\n",
        "helpers.py": "def help(box): ...\n",
    }
    other = written(tmp_path / "other", files)
    taught = teach(shop, [other])
    assert (taught.examples, taught.tests) == (1, 0)
    theirs = graph()
    assert edges(EdgeKind.NEXT) == {("boxes.Box", "boxes.Box.put")}, "what the other source defines is not in the graph"
    teach(shop)
    assert edges(EdgeKind.NEXT) == {
        ("boxes.Box", "boxes.fill"), ("boxes.fill", "boxes.Box.put"), ("boxes.Box", "boxes.Box.put"),
    }  # fmt: skip
    # Each is forgotten by itself.
    teach(shop, forgetting=True)
    assert graph() == theirs
    teach(shop, [other], forgetting=True)
    assert not graph().nodes


def test_a_tool_set_teaches_what_belongs_together_and_what_checks_found() -> None:
    tools = f"tools:{Path(__file__).parents[2] / 'examples' / 'mug_shop.yaml'}"
    teach(tools)
    found = graph()
    assert found.members("mug_shop/sums") == {"mug_shop.with_tax"}
    assert found.members("mug_shop/") >= {"mug_shop/orders", "mug_shop.create_order", "mug_shop.with_tax"}
    kinds = {id: found.nodes[id].kind.value for id in ("mug_shop/", "mug_shop/orders", "mug_shop.create_order")}
    assert [*kinds.values()] == ["category", "group", "callable"]
    # Its answer is not described.
    assert {node.id: node.check for node in found.nodes.values() if node.check < 1} == {"mug_shop.delete_order": 0.83}
    teach(tools)
    assert graph() == found
    with indexes_of(tools, {"refresh": False}) as [index]:
        assert index.source.tools
        weights.save(index.source.tools, {})
        teach(index)
    assert all(node.check == 1 for node in graph().nodes.values())
    teach(tools, forgetting=True)
    assert not graph().nodes


def test_a_trace_is_forgotten_only_as_it_was_learnt(shop: Path, tmp_path: Path) -> None:
    learnt, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    teach(shop, [lines(learnt, '{"id": "1", "calls": ["shop.Box", "weigh"]}')])
    before, told = graph(), list[str]()
    taught = teach(
        shop, [lines(other, '{"id": "1", "calls": ["shop.Box", "Box.put"]}')], forgetting=True, tell=told.append
    )
    assert taught.forgotten == 0 and graph() == before
    assert told == ["1 is not forgotten: a trace of that id was learnt, but not this one"]
    assert teach(shop, [learnt], forgetting=True).forgotten == 1
    assert not graph().nodes


def test_traces_count_once_and_are_forgotten_again(shop: Path, tmp_path: Path) -> None:
    teach(shop)
    before = graph()
    file = lines(tmp_path / "t.jsonl", ORDER, Trace("t2", (TracedCall("shop.weigh"),), verified=False))
    taught = teach(shop, [file])
    assert (taught.traces, taught.unverified, taught.calls, taught.again) == (2, 1, 3, 0)
    assert edges(EdgeKind.RESOURCE, "traces") == {("boxes.Box", "more.weigh", "box")}
    assert (graph().nodes["shop.more.weigh"].calls, graph().nodes["shop.more.weigh"].successes) == (2, 1)
    after = graph()
    assert teach(shop, [file]).again == 2
    assert graph() == after
    # To read the code again takes nothing of them away.
    teach(shop)
    assert graph() == after
    assert teach(shop, [file], forgetting=True).forgotten == 2
    assert graph() == before


def test_names_are_those_of_the_source(shop: Path, tmp_path: Path) -> None:
    calls = ["numpy.mean", "shop.boxes.Box", "Box.put", "weigh", "shop.fill", "fill", "os.remove", "weigh"]
    file = lines(tmp_path / "t.jsonl", json.dumps({"calls": calls}), json.dumps({"calls": ["numpy.mean"]}))
    taught = teach(shop, [file])
    assert taught.unknown == {"numpy.mean": 2, "os.remove": 1}
    assert (taught.traces, taught.empty, taught.calls) == (1, 1, 6)
    # `fill` is that which the package offers.
    assert edges(EdgeKind.NEXT) == {
        ("boxes.Box", "boxes.Box.put"), ("boxes.Box.put", "more.weigh"), ("more.weigh", "boxes.fill"),
        ("boxes.fill", "more.weigh"),
    }  # fmt: skip


def test_what_takes_the_result_of_something_unknown_takes_nothing() -> None:
    names = CallableNames(["a.x", "a.y"])
    calls = (
        TracedCall("a.x"),
        TracedCall("b.z"),
        TracedCall("y", takes={"p": 1, "q": 0}),
        TracedCall("y", takes={"r": 2}),
    )
    assert [(call.name, dict(call.takes)) for call in names.of(Trace("t", calls)).calls] == [
        ("a.x", {}), ("a.y", {"q": 0}), ("a.y", {"r": 1}),
    ]  # fmt: skip


def test_tools_are_known_by_the_names_of_their_specification(tmp_path: Path) -> None:
    spec = Path(__file__).parents[1] / "data" / "tools" / "shop.yaml"
    tools = [{"name": name, "parameters": {"type": "object"}} for name in ("files.read", "write-file", "getURL")]
    (tmp_path / "disk.json").write_text(json.dumps(tools))
    wire = Trace("t", (TracedCall("listProducts"), TracedCall("shop.createOrder")))
    assert teach(f"openapi:{spec}", [lines(tmp_path / "shop.jsonl", wire)]).traces == 1
    assert edges(EdgeKind.NEXT) == {("list_products", "create_order")}
    other = Trace("u", tuple(map(TracedCall, ("files.read", "write-file", "getUrls", "disk.getURL"))))
    taught = teach(f"tools:{tmp_path / 'disk.json'}", [lines(tmp_path / "disk.jsonl", other)])
    assert (taught.traces, taught.calls, taught.unknown) == (1, 3, {"getUrls": 1})


def recorded(id: str, request: str, status: str, verified: bool, *calls: str) -> None:
    """Write the record of an episode whose only step calls tools."""
    folder = episodes_dir() / id
    folder.mkdir(parents=True)
    execution = {"outcome": "ok", "checks": [], "calls": [{"tool": name, "seconds": 0.5} for name in calls]}
    step = {
        "number": 1, "thought": "", "action": {"type": "code", "content": "x = 1"}, "observation": execution,
        "shown": "", "seconds": 1.0, "usage": {}, "response": "", "reasoning": "",
    }  # fmt: skip
    summary = {"code": "x = 1", "verified": verified, "reason": ""}
    end = {"event": "run_ended", "status": status, "answer": "1", "summary": summary, "steps": 1, "exit_code": 0}
    head = {**RunStarted(id, request, "2026-11-23T10:00:00+00:00", "m").to_dict(), "format": 1}
    events = [head, {"event": "observed", "step": step}, {**RunEnded(Status(status)).to_dict(), **end}]
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def test_episodes_of_the_store_are_learnt_as_far_as_they_call_the_source(tmp_path: Path) -> None:
    spec = Path(__file__).parents[1] / "data" / "tools" / "shop.yaml"
    source = f"openapi:{spec}"
    recorded("20261123-100000-aaaaaa", "Order it", "done", True, "shop.list_products", "shop.create_order")
    recorded("20261123-100001-bbbbbb", "Order it", "failed", False, "shop.create_order")
    recorded("20261123-100002-cccccc", "Mean?", "done", True, "other.mean", "other.median")
    (episodes_dir() / "20261123-100003-dddddd").mkdir()
    (episodes_dir() / "20261123-100003-dddddd" / "events.jsonl").write_text("{cut")
    told: list[str] = []
    taught = teach(source, ["episodes"], tell=told.append)
    assert (taught.traces, taught.unverified, taught.empty, taught.left_out) == (2, 1, 1, 1)
    assert told[0].startswith("20261123-100003-dddddd is left out: the record of")
    assert edges(EdgeKind.NEXT) == {("list_products", "create_order")}
    node = graph().nodes["shop.create_order"]
    assert (node.calls, node.successes, node.seconds) == (2, 1, 0.5)
    assert teach(source, ["episodes"]).again == 2
    assert teach(source, ["episodes"], forgetting=True).forgotten == 2
    assert not graph().nodes


def test_a_file_that_is_not_there_changes_nothing(shop: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "t.jsonl", ORDER)
    with pytest.raises(NotFound, match="there is no file"):
        teach(shop, [file, tmp_path / "missing.jsonl"])
    (tmp_path / "bad.jsonl").write_text("x\n")
    with pytest.raises(UsageError, match="no trace could be read from"):
        teach(shop, [file, tmp_path / "bad.jsonl"])
    assert not list(graphs_dir().glob("*/graph.json"))


def test_the_command_tells_what_was_learnt_and_what_was_left_out(shop: Path, tmp_path: Path) -> None:
    bad = ["{", "x", "[]", '{"calls": 3}', '{"calls": [3]}', '{"calls": ["a", ']
    file = lines(tmp_path / "t.jsonl", ORDER, '{"calls": ["numpy.mean", "Box"]}', *bad)
    ran = codenav("graph", "learn", "--on", shop, "--from", file)
    assert ran.code == 0
    assert ran.out == f"learnt 2 traces\nthe graph of {shop} has 2 nodes and 2 edges\n"
    left, *more = ran.err.splitlines()
    assert left == "t.jsonl, line 3, is left out: it is cut short"
    assert more[4:] == ["… and 1 more", f"not in {shop}, so their calls are left out: numpy.mean"]
    ran = codenav("graph", "learn", "--on", shop, "--json")
    assert ran.code == 0
    jsonschema.validate(ran.document, schemas.load("graph-learn"))
    assert ran.document["tests"] == 1
    ran = codenav("graph", "learn", "--on", shop, "--from", "episodes")
    assert (ran.code, ran.err) == (0, f"no episode that has ended on this machine calls anything of {shop}\n")
    (tmp_path / "script.py").write_text("from shop import Box, fill\nfill(Box(), [1])\n")
    ran = codenav("graph", "learn", "--on", shop, "--from", tmp_path / "script.py")
    assert (ran.code, ran.err.startswith("nothing was learnt: no test, example, notebook")) == (0, True)
    ran = codenav("graph", "learn", "--on", shop, "--from", tmp_path / "nothing.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == f"Error: there is no file {tmp_path}/nothing.jsonl"
