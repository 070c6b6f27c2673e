"""M3ToolEval: the adapted code base, both graders, descriptions, and what a changed checkout leads to."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import codenav
from codenav.core.errors import UsageError
from codenav.evals.m3tooleval import M3ToolEval
from codenav.evals.m3tooleval.grading import accepts, upstream_accepts
from codenav.evals.task import Attempt, Mode, Sample, ToolCall

SMALL = Path(__file__).parents[1] / "data" / "evals" / "m3tooleval"
KINDS = {"message_decoder", "dna_sequencer", "trade_calculator", "travel_planner", "browser"}


def small(**options: Any) -> M3ToolEval:
    return M3ToolEval(SMALL, any_commit=True, **options)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the small data that a test may change."""
    return Path(shutil.copytree(SMALL, tmp_path / "data"))


def code(task: M3ToolEval, out: Path) -> Path:
    [folder] = task.setting(Mode.CODE_USE, out).on
    return folder


def run(folder: Path, script: str) -> Any:
    """The JSON that a script prints, which imports the code base in a Python of its own."""
    begin = f"import json, sys\nsys.path.insert(0, {str(folder)!r})\n"
    ended = subprocess.run([sys.executable, "-I", "-c", begin + script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def attempt(expected: Any, answer: str, status: str = "done", **more: Any) -> Attempt:
    gold = {"value": repr(expected), "type": type(expected).__name__}
    result: Any = SimpleNamespace(answer=answer, status=SimpleNamespace(value=status))
    return Attempt(Sample("s", "r", gold), result, **more)


def test_samples_are_the_tasks_in_their_order_and_gold_is_json() -> None:
    samples = small().samples()
    assert [sample.id for sample in samples] == [
        "message_decoder:mirrored_greeting",
        "message_decoder:with_full_stop",
        "plants:tuple",
        "plants:dict",
        "plants:bool",
        "trade_calculator:fraction",
        "trade_calculator:list",
        "travel_itinerary_planning:cheapest",
        "web_browsing:price_of_blue_kettle",
        "web_browsing:price_of_tin_spoon",
        "web_browsing:total_after_discount",
    ]
    assert samples[2].gold == {"value": "('A', 3)", "type": "tuple"} and samples[2].group == "dna_sequencer"
    assert [sample.gold for sample in samples] == json.loads(json.dumps([sample.gold for sample in samples]))
    assert samples[-1].request.startswith("Find the total price of all things")


def test_the_code_base_holds_the_tools_and_nothing_of_the_tasks(tmp_path: Path) -> None:
    folder = code(small(), tmp_path)
    package = folder / "m3eval"
    assert {path.stem for path in package.glob("*.py")} == KINDS | {"__init__", "_tracer"}
    assert (package / "web_pages.jsonl").read_bytes() == (
        SMALL / "tasks/impl/web_browsing/web_pages.jsonl"
    ).read_bytes()
    text = "".join(path.read_text() for path in package.glob("[a-z]*.py"))
    for gone in ("Task", "ToolType", "TASKS", "METADATA", "metadata", "complex_operation", "itertools", "CUR_"):
        assert gone not in text
    assert "24.37 and 3.5" not in text and not list(folder.rglob("*.json"))
    for needed in ("KNOWN += ", "KNOWN = set(KNOWN)", "from typing import Dict, List", "# The whole page"):
        assert needed in text
    assert ast.get_docstring(ast.parse((package / "trade_calculator.py").read_text()).body[0]) is None  # type: ignore[arg-type]


def test_the_browser_needs_no_argument_and_takes_the_old_ones(tmp_path: Path) -> None:
    folder = code(small(), tmp_path)
    script = """
from m3eval.browser import WebBrowser, WebPage
own = WebBrowser([WebPage("/x", "own")], "/x")
print(json.dumps([WebBrowser().click_url("/kettles"), WebBrowser().click_url("/spoon"), own.view()]))
"""
    assert run(folder, script) == ["[/kettles]\nBlue Kettle\nPrice: $24.37", "[URL not found.]", "[/x]\nown"]


def test_upstreams_descriptions_become_docstrings_on_request(tmp_path: Path) -> None:
    folder = code(small(docstrings=True), tmp_path)
    script = """
from m3eval.message_decoder import mirror
from m3eval.travel_planner import find_trains
from m3eval.browser import WebBrowser
print(json.dumps([one.__doc__ for one in (mirror, find_trains, WebBrowser.view, WebBrowser.__init__)]))
"""
    assert run(folder, script) == [
        'Writes a text backwards: "ab" becomes "ba"\n    ',
        "Finds trains.\n    Returns a list of dicts.\n    ",
        "The page.",
        None,
    ]


def test_outermost_calls_are_told_and_nothing_is_lost_without_a_host(tmp_path: Path) -> None:
    folder = code(small(), tmp_path)
    script = """
import builtins
heard = []
def call_host(name, /, **arguments):
    heard.append([name, arguments])
    if len(heard) > 1:
        raise RuntimeError("the host is gone")
from m3eval.browser import WebBrowser
from m3eval.trade_calculator import calculator, with_duty
with_duty(1, 2)
builtins.call_host = call_host
browser = WebBrowser()
shown = browser.click_url(url="/kettles")
total = with_duty(100, rate=10)
calculator(object)
try:
    with_duty(1, 2, 3)
except TypeError as error:
    heard.append(str(error))
for _ in range(1000):
    with_duty(1, 1)
print(json.dumps([heard[:5], len(heard), total, shown[:9]]))
"""
    told, number, total, shown = run(folder, script)
    # Neither the view that the constructor makes nor the one inside of click_url is a call of the caller's.
    assert told[0] == ["eval.called", {"name": "click_url", "arguments": {"url": "/kettles"}}]
    assert told[1] == ["eval.called", {"name": "with_duty", "arguments": {"price": 100, "rate": 10}}]
    assert told[2] == ["eval.called", {"name": "calculator", "arguments": {"expression": "<class 'object'>"}}]
    assert told[3] == ["eval.called", {"name": "with_duty", "arguments": {"0": 1, "1": 2, "2": 3}}]
    assert "with_duty() takes 2 positional arguments but 3 were given" in told[4]
    assert (number, total, shown) == (901, 110.0, "[/kettles")


def test_search_shows_tools_and_not_their_tracing(tmp_path: Path) -> None:
    folder = code(small(), tmp_path)
    with codenav.index(folder) as index:
        assert {hit.block.path for hit in index.search("type: FUNCTION")} == {
            f"m3eval/{kind}.py" for kind in KINDS - {"browser"}
        }
        assert not index.search("tracer trace call_host").hits


@pytest.mark.parametrize(
    ("options", "mode", "holds", "lacks"),
    [
        ({}, Mode.CODE_USE, ["m3eval/browser.py: ", "Guidelines", "file_path: *m3eval/"], ["[1]", "find_trains"]),
        ({"paths_only": True}, Mode.CODE_USE, ["- m3eval/browser.py\n"], ["shop of magical"]),
        ({"description": "none"}, Mode.CODE_USE, ["Guidelines"], ["m3eval/trade"]),
        ({"description": "names"}, Mode.CODE_USE, ["find_trains", "browser.view"], ["Finds trains", "min", "sum"]),
        ({"description": "descriptions"}, Mode.CODE_USE, ["Finds trains", "browser = WebBrowser()"], ["Signature"]),
        ({"description": "prototypes", "guidelines": "none"}, Mode.CODE_USE, ["Signature: browser.view"], ["Guide"]),
        (
            {},
            Mode.NO_SEARCH,
            ["Signature: find_trains(destination", "[3] browser.view", "answer"],
            ["file_path", "[4]"],
        ),
    ],
)
def test_descriptions(options: dict[str, Any], mode: Mode, holds: list[str], lacks: list[str], tmp_path: Path) -> None:
    setting = small(**options).setting(mode, tmp_path)
    assert all(text in setting.description for text in holds), setting.description
    guide = setting.description.find("Guidelines") if "Guide" not in lacks else -1
    described = setting.description[:guide] if guide >= 0 else setting.description
    assert not [text for text in lacks if text in described], described
    assert setting.facts["description_characters"] == len(described.strip())
    assert setting.read == ["answer"]


def test_the_variable_is_graded_and_the_text_of_done_where_there_is_none() -> None:
    task = small()
    call = ToolCall("with_duty")
    scores = [
        task.score(attempt(20.7, "20", values={"answer": 20.7}, calls=[call])),
        task.score(attempt(20.7, "20")),
        task.score(attempt(20.7, "20.70 ", values={"answer": None})),
        task.score(attempt(20.7, "20.7", status="limit", values={"answer": 20.7})),
    ]
    assert scores == [
        {"correct": True, "upstream": True, "graded": "variable", "tools": 1},
        {"correct": False, "upstream": True, "graded": "text", "tools": 0},
        {"correct": True, "upstream": True, "graded": "text", "tools": 0},
        {"correct": False, "upstream": False, "graded": "nothing", "tools": 0},
    ]
    assert task.aggregate(scores) == {
        "accuracy": 50.0,
        "upstream": 75.0,
        "variable": 25.0,
        "text": 50.0,
        "untooled": 25.0,
    }
    assert set(task.aggregate([])) == {column.name for column in task.columns}


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            68.71,
            [68.71, "68.71", "68.710", "$68.71", " '68.71'. ", 68.714],
            [68, "68", 68.72, "it is 68.71", None, True],
        ),
        (248.922, ["248.92", 248.922], [248.9, "248.93"]),
        (7182000.0, [7182000, "7,182,000.0", "7182001"], ["7182", 7182010, float("nan"), float("inf")]),
        (3, [3, "3", 3.0, "3."], ["three", True, "3 people", "[3]", b"3", 10**400]),
        (False, [False, "False", "false", "`False`"], [0, "0", "", None, True]),
        ("Yes.", ["Yes.", "'Yes.'"], ["Yes", "yes."]),
        ("David", ["David", '"David"', "David.", "**David**", " David\n"], ["david", "It is David", "", ["David"]]),
        ("2955701543", [2955701543, "2955701543"], [2955701544]),
        ([1.0, 2.0], [[1, 2], (1.0, 2.0), "[1, 2]", "1.0, 2.0", "(1,2)"], [[2, 1], [1], [1, 2, 3], {1, 2}, "12"]),
        (("A", 3), [["A", 3], ("A", 3), "('A', 3)"], [("A", 4), ("a", 3), "A", "A, 3"]),
        ({"T": 1, "A": 2}, [{"A": 2, "T": 1}, "{'A': 2, 'T': 1.0}"], [{"A": 2}, {"A": 2, "T": 1, "C": 0}, [("A", 2)]]),
    ],
)
def test_our_grader_compares_values(expected: Any, right: list[Any], wrong: list[Any]) -> None:
    assert not [answer for answer in right if not accepts(answer, expected)]
    assert not [answer for answer in wrong if accepts(answer, expected)]


def test_upstreams_grader_keeps_its_faults() -> None:
    for answer, expected in (("68", 68.71), ("0", False), ("False", False), ("'x'", "x"), ("[36380.0]", [36380.0])):
        assert upstream_accepts(answer, expected), answer
    for answer, expected in (
        ("380.42", 380.41999999999996),
        ("[36380]", [36380.0]),
        ("36380.0, 1.0", [36380.0, 1.0]),
        ("false", False),
        ("{'A': 2, 'T': 1}", {"T": 1, "A": 2}),
        ("x.", "x"),
        ("X", "x"),
        ("68.7", 68.71),
        ("(" * 9000, 1),
    ):
        assert not upstream_accepts(answer, expected), answer


def test_the_self_check_of_the_small_data_and_what_it_finds(copy: Path, tmp_path: Path) -> None:
    assert all(check.ok for check in small().selfcheck(tmp_path / "out", notice=print))
    module = copy / "tasks/impl/trade_calculator.py"
    # A tool that is another one in the adapted code base than where the expected results are computed.
    module.write_text(module.read_text().replace("rate / 100", "rate / __import__('math').log10(len(__name__) * 1e20)"))
    checks = M3ToolEval(copy, any_commit=True).selfcheck(tmp_path / "again", notice=print)
    [check] = [one for one in checks if not one.ok]
    assert (check.expected, check.found) == (11, 9) and "trade_calculator/fraction" in check.detail


def refused(data: Path) -> str:
    with pytest.raises(UsageError) as caught:
        M3ToolEval(data, any_commit=True).setting(Mode.CODE_USE, data / "out")
    assert caught.value.hint
    return str(caught.value)


def test_changed_modules_are_told_in_one_line(copy: Path) -> None:
    def changed(name: str, old: str, new: str) -> str:
        path = copy / "tasks/impl" / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        message = refused(copy)
        path.write_text(text)
        return message

    browser = "web_browsing/__init__.py"
    assert "SyntaxError" in changed("dna_sequencer.py", "TASKS = []", "TASKS = [")
    assert "constructor of WebBrowser takes pages, start" in changed(browser, "default_page", "start")
    assert "PAGES is not defined" in changed(browser, "PAGES", "ALL")
    assert "told from the tasks" in changed(
        "trade_calculator.py", "return price +", "_ = lambda: TASKS; return price +"
    )
    assert "no plain data" in changed("trade_calculator.py", "with_duty(18, 15)", "object()")
    assert "two tasks" in _twice(copy)


def _twice(copy: Path) -> str:
    path = copy / "tasks/impl/trade_calculator.py"
    path.write_text(path.read_text().replace("/list", "/fraction"))
    with pytest.raises(UsageError) as caught:
        M3ToolEval(copy, any_commit=True).samples()
    return str(caught.value)
