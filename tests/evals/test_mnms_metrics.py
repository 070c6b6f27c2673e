"""The metrics of m&m's: upstream's labels and where they fail, calls by syntax tree, and a second implementation."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st

from codenav.evals.mnms import Mnms
from codenav.evals.mnms.plans import Node, PlannedTask
from codenav.evals.mnms.programs import calls_in, program_of
from codenav.evals.mnms.scoring import aggregate, labels_of, render, score, set_f1, tool_macro

DATA = Path(__file__).parent.parent / "data" / "evals" / "mnms"
MNMS = Mnms(DATA / "checkout", tasks=DATA / "plans.json", any_commit=True)
TOOLS = MNMS.tool_names

PLAN = [
    Node(0, "image_crop_left", {"image": "a.jpg"}),
    Node(1, "object_detection", {"image": "<node-0>.image"}),
    Node(2, "count", {"objects": "<node-1>.objects"}),
]
TASK = PlannedTask("1", "How many?", PLAN)
GOLD = render(PLAN)


@pytest.mark.parametrize(
    ("program", "right", "upstreams", "f1"),
    [
        pytest.param(GOLD, 3, 3, 100, id="gold"),
        pytest.param(GOLD.replace("output", "value"), 3, 3, 100, id="other variable names"),
        pytest.param(
            "from mnm import tool_api\n" + "\n".join(f"a = tool_api.{line[10:]}" for line in GOLD.split("\n")),
            3, 0, 0, id="through the module",
        ),
        pytest.param(
            "n = count(object_detection(image_crop_left('a.jpg')['image'])['objects'])", 3, 1, 50, id="nested"
        ),
        pytest.param(
            "a = image_crop_left('a.jpg')\nb = object_detection(a['image'])\nc = count(b['objects'])",
            3, 3, 100, id="positional arguments",
        ),
        pytest.param(
            "a = image_crop_left(\n    image='a.jpg',\n)\nb = object_detection(\n    image=a['image'],\n)",
            2, 0, 0, id="over several lines",
        ),
        pytest.param(
            "a = image_crop_left(image='a.jpg')['image']\nb = object_detection(image=a)", 2, 1, 50, id="subscript"
        ),
        pytest.param(
            "a = image_crop_left(image='a.jpg')\nt = str(a['image'])\nb = object_detection(image=t)",
            2, 3, 66.7, id="a helper in between",
        ),
        pytest.param("print(count(objects=[]))", 1, 0, 0, id="printed"),
    ],
)  # fmt: skip
def test_what_upstream_finds_and_what_is_there(program: str, right: int, upstreams: int, f1: float) -> None:
    labels = labels_of(program)
    found = calls_in(program, TOOLS)
    assert found is not None and len(found) == right
    assert set(found) <= {node.name for node in PLAN}
    assert len(labels) == upstreams
    assert round(100 * set_f1(labels_of(GOLD), labels), 1) == f1


def test_sets_forgive_a_repeated_call_and_counts_do_not() -> None:
    twice = [Node(0, "image_crop", {}), Node(1, "image_crop", {}), Node(2, "tag", {})]
    row = score(PlannedTask("1", "…", twice), "image_crop()\ntag()", TOOLS)
    assert set_f1(row["set_gold"], row["made"]) == 1.0
    assert round(row["recall"], 3) == 0.667 and not row["correct"]


def test_one_perfect_sample_is_a_thirty_third_of_the_macro_average() -> None:
    one = PlannedTask("1", "…", [Node(0, "count", {"objects": "x"})])
    table = aggregate([score(one, "count(objects=[])", TOOLS)])
    assert len(TOOLS) == 33 and round(table["F1"], 2) == 3.03
    assert table["F1 of tools that occur"] == table["ours F1"] == table["correct"] == 100.0


def test_a_reference_in_a_text_has_no_braces_upstream_and_is_a_value_in_ours() -> None:
    plan = [Node(0, "get_year_fact", {"year": 1969}), Node(1, "image_generation", {"text": 'a "<node-0>.text" here'})]
    assert render(plan) == (
        'output0 = get_year_fact(year="1969")\noutput1 = image_generation(text=f"a \\"output0[\'text\']\\" here")'
    )
    assert program_of(plan).endswith(
        "output0 = get_year_fact(year=1969)\n"
        "output1 = image_generation(text='a \"' + str(output0['text']) + '\" here')\n"
    )


def test_a_line_break_in_an_argument_costs_upstream_the_call() -> None:
    plan = [Node(0, "text_generation", {"text": "one\ntwo"}), Node(1, "count", {"objects": "<node-0>.text"})]
    assert labels_of(render(plan)) == ["count"]
    assert calls_in(program_of(plan), TOOLS) == ["text_generation", "count"]


def test_best_match() -> None:
    either = PlannedTask(
        "1", "…", [Node(0, "image_captioning", {})], [[Node(0, "image_classification", {})], [Node(0, "tag", {})]]
    )
    row = score(either, "image_classification('a')", TOOLS)
    assert row["correct"] and row["gold"] == row["set_gold"] == ["image_classification"]
    assert row["upstream_gold"] == ["image_captioning"], "upstream's runner leaves alternatives out"
    assert not score(either, "image_classification('a')\ntag()", TOOLS)["correct"]


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("'banana'.count('a')", []),
        ("[1, 2].count(1); x.tag(1)", []),
        ("from itertools import count\ncount()", []),
        ("def tag(x):\n    return x\ntag(1)", []),
        ("from mnm.tool_api import tag as label\nlabel(1, [])", ["tag"]),
        ("import mnm.tool_api as t\nt.count([])", ["count"]),
        ("import mnm.tool_api\nmnm.tool_api.count([])", ["count"]),
        ("from mnm import tool_api as api\napi.emoji(1)", ["emoji"]),
        ("from mnm.tool_api import *\nemoji(1)", ["emoji"]),
        ("cut = image_crop\ncut(1, 2)", ["image_crop"]),
        ("[tag(x, []) for x in y]", ["tag"]),
        ("def solve():\n    output0 = tag(1, [])\n    return output0", ["tag"]),
        ("await_it = lambda: count([])", ["count"]),
        ("if x:\n    tag(1)\nelse:\n    count(1)", ["tag", "count"]),
        ("", []),
    ],
)
def test_calls_by_syntax_tree(program: str, found: list[str]) -> None:
    assert calls_in(program, TOOLS) == found


@pytest.mark.parametrize("program", ["count(", "\0", "x = " + "(" * 5000, "a" + ".b" * 100_000 + "()"])
def test_what_is_no_python_has_no_calls(program: str) -> None:
    row = score(TASK, program, TOOLS)
    assert row["unreadable"] and row["made"] == [] and row["f1"] == 0.0


def test_the_last_summary_counts_and_no_summary_is_nothing() -> None:
    empty = score(TASK, "", TOOLS, summed_up=False)
    assert not empty["unreadable"] and empty["precision"] == empty["recall"] == 0.0
    assert aggregate([empty])["no summary"] == 100.0


names = st.lists(st.sampled_from([*TOOLS[:6], "str", "print"]), max_size=5)


@drawn(300)
@given(st.lists(st.tuples(st.lists(st.sampled_from(TOOLS[:6]), min_size=1, max_size=4), names), max_size=6))
def test_metrics_agree_with_a_plain_second_implementation(pairs: list[tuple[list[str], list[str]]]) -> None:
    known = [(gold, [label for label in made if label in TOOLS]) for gold, made in pairs]
    macro = tool_macro(known, len(TOOLS))
    plain = [_plain_macro(pairs, tool) for tool in TOOLS]
    for place in range(3):
        assert macro[place] == pytest.approx(100 * sum(row[place] for row in plain) / 33)


def _plain_macro(pairs: list[tuple[list[str], list[str]]], tool: str) -> tuple[float, float, float]:
    hit = sum(1 for gold, made in pairs if tool in gold and tool in made)
    false = sum(1 for gold, made in pairs if tool not in gold and tool in made)
    lost = sum(1 for gold, made in pairs if tool in gold and tool not in made)
    if not hit:
        return 0.0, 0.0, 0.0
    precision, recall = hit / (hit + false), hit / (hit + lost)
    return precision, recall, 2 / (1 / precision + 1 / recall)
