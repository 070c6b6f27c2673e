"""API-Bank in a sandbox: the state of a sample, the trace of calls, scores and the self-check."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import codenav
from codenav.core.events import Status
from codenav.core.protocols import Sandbox
from codenav.episodes.record import EpisodeResult
from codenav.evals.api_bank import ApiBank
from codenav.evals.api_bank.replays import Replays
from codenav.evals.benchmark import write_files
from codenav.evals.task import Attempt, Sample, ToolCall

DATA = Path(__file__).resolve().parent.parent / "data" / "evals" / "api_bank"
REAL = os.environ.get("CODENAV_EVAL_DATA", "")
"""Read here: the fixture of every test clears the variables of codenav."""


@pytest.fixture(scope="module")
def task() -> ApiBank:
    """The small data set."""
    return ApiBank(DATA, any_commit=True, sandbox="bubblewrap")


@pytest.fixture(scope="module")
def code(task: ApiBank, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The adapted code base."""
    return write_files(task.files(), tmp_path_factory.mktemp("api-bank") / "code")


def sample_of(task: ApiBank, file: str) -> Sample:
    """The sample of a dialogue, by the beginning of its file's name."""
    return next(sample for sample in task.samples() if sample.facts["file"].startswith(file))


class Desk:
    """A sandbox with the work folder of a sample, and what was told to the host."""

    def __init__(self, code: Path, work: Path, sample: Sample) -> None:
        for name, content in sample.files.items():
            (work / name).write_bytes(content)
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.box: Sandbox = codenav.sandbox("bubblewrap", on=[code], work_dir=work, calls=self._take)

    def _take(self, name: str, arguments: dict[str, Any]) -> None:
        assert name == "eval.called"
        self.told.append((arguments["name"], arguments["arguments"]))

    def says(self, code: str) -> str:
        """The output of a step, which has to end well."""
        done = self.box.run(code)
        assert done.outcome == "ok", done.error
        return done.stdout.strip()


@pytest.fixture
def desks(task: ApiBank, code: Path, tmp_path: Path) -> Iterator[Callable[[str], Desk]]:
    """Makes desks for samples."""
    with ExitStack() as opened:

        def made(file: str) -> Desk:
            desk = Desk(code, Path(tempfile.mkdtemp(dir=tmp_path)), sample_of(task, file))
            opened.callback(desk.box.close)
            return desk

        yield made


@pytest.fixture
def desk(desks: Callable[[str], Desk]) -> Desk:
    """A desk for a sample without earlier calls."""
    return desks("GetToken-LendBook")


def test_an_object_made_by_hand_sees_database_and_token_checker(desk: Desk) -> None:
    assert desk.says("from apis import GetToken, LendBook\nGetToken().call('Ada', pin='1815')['output']['token']") == (
        "'ada-token-1'"
    )
    loan = desk.says("loan = LendBook().call('ada-token-1', 'Momo', 14)['output']; print(loan)")
    assert len(loan) == 8
    assert desk.says("from apis.return_book import ReturnBook\nprint(ReturnBook().call(loan)['output'])") == "success"
    assert desk.says("LendBook().call('wrong', 'Momo', 14)['exception']") == "'The token is invalid.'"
    # A database of the agent's own is taken; what it leaves out is the sample's.
    assert desk.says("mine = {}\nLendBook(mine).call('ada-token-1', 'Emil', 1)\nprint(len(mine))") == "1"


def test_the_outermost_calls_are_told_with_the_class_and_arguments_by_name(desk: Desk) -> None:
    desk.says("from apis import *\nGetToken().call('Ada', pin='1815')\nLendBook().lend_book('ada-token-1', 'Momo', 14)")
    assert desk.told == [
        ("GetToken", {"member": "Ada", "pin": "1815"}),
        ("LendBook", {"token": "ada-token-1", "title": "Momo", "days": 14}),
    ]
    desk.says("ChangePin().call('ask', member='Ada')\nRateBooks().call({1, 2})")
    assert desk.told[2:] == [("ChangePin", {"stage": "ask", "member": "Ada"}), ("RateBooks", {"ratings": "{1, 2}"})]
    failed = desk.box.run("LendBook().call('ada-token-1')")
    assert failed.error and failed.error.type == "TypeError"
    assert desk.told[4:] == [("LendBook", {"0": "ada-token-1"})]


def test_asking_for_help_or_grading_is_no_call(desk: Desk) -> None:
    desk.says(
        "from apis import LendBook\nimport inspect\nprint(LendBook.description, inspect.signature(LendBook.call))"
    )
    desk.says("inspect.getsource(LendBook.call)\nLendBook()")
    assert desk.told == []


def test_chance_is_the_same_in_each_process_of_a_sample_and_not_in_others(desks: Callable[[str], Desk]) -> None:
    lend = "from apis import LendBook\nprint(LendBook().call('ada-token-1', 'Momo', 14)['output'])"
    first, again, other = desks("GetToken-LendBook"), desks("GetToken-LendBook"), desks("RateBooks")
    assert first.says(lend) == again.says(lend) != other.says(lend)
    # The module of the agent's own code is left alone.
    assert "Chance" not in first.says("import random\nprint(random.random.__self__)")


def test_earlier_calls_have_been_made_with_their_recorded_ids(desks: Callable[[str], Desk]) -> None:
    desk = desks("LendBook-ReturnBook")
    assert desk.says("from apis import ReturnBook\nReturnBook().call('16180339')['output']") == "'success'"
    assert desk.told == [("ReturnBook", {"loan": "16180339"})]
    joined = desks("Join-LendBook")
    assert joined.says("from apis import LendBook\nprint(LendBook().call('g7r4c3', 'Momo', 7)['exception'])") == "None"


def test_what_an_api_keeps_on_its_object_survives(desks: Callable[[str], Desk]) -> None:
    desk = desks("ChangePin")
    assert desk.says("from apis import ChangePin\nChangePin().call('set', code=4711, pin='9')['output']") == "'success'"
    assert desk.says("from apis import GetToken\nprint(GetToken().call('Ada', '9')['exception'])") == "None"


def test_recorded_answers_stand_in_for_the_network(desks: Callable[[str], Desk]) -> None:
    desk = desks("Translate")
    assert desk.says("from apis import Translate\nTranslate().call('library', tgt_lang='Spanish')['output']") == (
        "'biblioteca'"
    )
    assert "No network" in desk.says("Translate().call('house', tgt_lang='es')['exception']")
    assert [name for name, _ in desk.told] == ["Translate", "Translate"]


def test_a_class_of_the_agents_own_is_no_api(desk: Desk) -> None:
    mine = """
from apis import LendBook
class Mine(LendBook):
    def call(self, **kwargs):
        return super().call(**kwargs)
    def other(self):
        return 1
print(Mine().call(token='ada-token-1', title='Momo', days=1)['exception'], Mine().other())
"""
    assert desk.says(mine) == "None 1"
    assert [name for name, _ in desk.told] == ["LendBook"]


def test_a_crash_brings_the_state_back(desk: Desk) -> None:
    desk.says("from apis import LendBook, ReturnBook\nloan = LendBook().call('ada-token-1', 'Momo', 14)['output']")
    desk.box.run("ReturnBook().call(loan)\nimport os\nos._exit(3)")
    assert desk.says("ReturnBook().call(loan)['output']") == "'success'"


def attempted(task: ApiBank, file: str, calls: list[ToolCall]) -> dict[str, Any]:
    """The scores of calls at a sample."""
    sample = sample_of(task, file)
    return task.score(Attempt(sample, EpisodeResult("x", sample.request, Status.DONE), calls))


TOKEN = ToolCall("GetToken", {"member": "Ada", "pin": "1815"}, step=1)
LEND = ToolCall("LendBook", {"token": "ada-token-1", "title": "Momo", "days": 14}, step=2)


def test_scores_by_name_and_by_upstreams_graders(task: ApiBank) -> None:
    right = attempted(task, "GetToken-LendBook", [TOKEN, LEND])
    assert (right["correct"], right["f1"], right["counts"], right["late_f1"]) == (True, 1.0, [2, 2, 2], 1.0)
    # Alone, the token is as good as before: it is in the shipped data.
    assert (right["accepted"], right["upstream"], right["gradable"]) == (2, 2, 2)
    other = ToolCall("LendBook", {"token": "ada-token-1", "title": "Emil", "days": 14}, step=2)
    wrong = attempted(task, "GetToken-LendBook", [TOKEN, other])
    assert (wrong["correct"], wrong["f1"], wrong["accepted"]) == (True, 1.0, 1)
    twice = attempted(task, "GetToken-LendBook", [TOKEN, other, LEND])
    assert (twice["correct"], twice["precision"], twice["recall"], twice["accepted"]) == (False, 2 / 3, 1.0, 2)


def test_a_call_that_needs_the_state_is_accepted_in_it_and_not_by_upstreams_recipe(task: ApiBank) -> None:
    found = attempted(task, "LendBook-ReturnBook", [ToolCall("ReturnBook", {"loan": "16180339"}, step=1)])
    assert (found["accepted"], found["upstream"]) == (1, 0)
    ratings = {"ratings": [{"title": "Momo", "stars": 5}, {"title": "Emil", "stars": 4}]}
    found = attempted(task, "RateBooks", [ToolCall("RateBooks", ratings, step=1)])
    assert (found["accepted"], found["upstream"]) == (1, 0)


def test_no_calls_and_odd_calls_are_scored(task: ApiBank) -> None:
    none = attempted(task, "RateBooks", [])
    assert (none["correct"], none["f1"], none["accepted"], none["upstream"]) == (False, 0.0, 0, 0)
    odd = attempted(task, "RateBooks", [ToolCall("RateBooks", {"0": "{1}"}, step=1), ToolCall("Nothing", {}, step=1)])
    assert (odd["precision"], odd["recall"], odd["accepted"]) == (0.5, 1.0, 0)


def test_aggregate_needs_no_checkout(task: ApiBank) -> None:
    scores = [
        attempted(task, "GetToken-LendBook", [TOKEN, LEND]),
        attempted(task, "GetToken-LendBook", [TOKEN]),
        attempted(task, "RateBooks", []),
    ]
    table = object.__new__(ApiBank).aggregate(scores)
    assert {column.name for column in ApiBank.columns} <= set(table)
    assert table["recall"] == pytest.approx(50.0)
    assert table["accepted"] == pytest.approx(50.0)
    assert table["f1_pooled"] == pytest.approx(100 * 2 * 1 * 0.6 / 1.6)
    assert set(object.__new__(ApiBank).aggregate([]).values()) == {0.0}


def test_a_call_that_hangs_is_not_accepted(task: ApiBank, tmp_path: Path) -> None:
    data = Path(shutil.copytree(DATA, tmp_path / "data"))
    path = data / "apis" / "open_at.py"
    path.write_text(path.read_text().replace("day.lower() not in", "hang(day) not in") + HANG)
    code = write_files(ApiBank(data, any_commit=True).files(), tmp_path / "code")
    with closing(Replays(code, backend="bubblewrap", seconds=3)) as replays:
        gold = [{"name": "OpenAt", "arguments": {"day": "stop"}, "result": {"input": {}, "output": 1}}]
        assert "timeout" in replays.grade({}, gold, gold)["ours"][0]["cause"]
        # The next sample has a fresh sandbox.
        assert replays.call_names({}, [{"name": "OpenAt", "arguments": {"day": "monday"}}]) == ["OpenAt"]


HANG = """

def hang(day):
    while day == "stop":
        pass
    return day
"""


def test_selfcheck_of_the_small_data_set(task: ApiBank, tmp_path: Path) -> None:
    told: list[str] = []
    found = {check.name: check for check in task.selfcheck(tmp_path, notice=told.append)}
    assert all(check.ok for check in found.values())
    assert found["samples with F1 = 100 by name"].found == 7
    assert found["earlier calls that the APIs accept"].found == 4
    assert found["expected calls that the APIs' own graders accept"].found == 6
    assert found["accepted with recorded answers"].found == 7
    assert found["accepted by upstream's recipe"].found == 2
    assert (
        "dialogue-010 (Translate-level-1-1.jsonl): Translate: needs the network"
        in found["causes of the others"].detail.splitlines()
    )
    assert "8 expected calls" in told[0]


@pytest.mark.skipif(not REAL, reason="CODENAV_EVAL_DATA names no folder with the benchmarks' checkouts")
def test_selfcheck_of_the_real_checkout(tmp_path: Path) -> None:
    task = ApiBank(Path(REAL) / "DAMO-ConvAI", sandbox="bubblewrap")
    wrong = [check for check in task.selfcheck(tmp_path, notice=lambda text: None) if not check.ok]
    assert not wrong
