"""The runner: one session for each sample, what is kept of it, and what happens when something goes wrong."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from evals_task import Shop, plays, script

import codenav.evals
from codenav.agents.models import FunctionModel
from codenav.core.actions import Action, Code, Done, Search
from codenav.core.config import episodes_dir
from codenav.core.errors import ModelFailed, ModelNotConfigured, ModelUnreachable, Unavailable, UsageError
from codenav.core.limits import Limits
from codenav.core.messages import Completion, Message
from codenav.episodes.store import EpisodeStore
from codenav.evals import Mode, Result, Sample, Setting, attempts
from codenav.evals.recorded import RunRecord, outcome_of
from codenav.evals.report import report
from codenav.evals.runs import RESULTS, RunFolder

PLAIN: Any = {"checks_lint": False, "checks_types": False}
SAMPLES = 5
"""Of a run that is cut in pieces."""
VARIES = re.compile(r"\d\.\d+ s|0x\w+")
OWN = Path(__file__).parent.parent


def run(task: Any, out: Path, **more: Any) -> codenav.evals.Run:
    return codenav.evals.run(task, out=out, **{"model": plays(), **PLAIN, **more})


def raising(error: Exception) -> FunctionModel:
    """A model that fails at each question."""

    def answer(messages: Sequence[Message]) -> str:
        raise error

    return FunctionModel(answer)


def lasting(results: Sequence[Result]) -> list[Result]:
    """Results without what differs from run to run."""
    return [
        replace(
            one,
            seconds=0.0,
            episode="",
            prompt_tokens=0,
            # An outcome names its seconds, a function its address.
            trajectory=[{**step, "observation": VARIES.sub("", step["observation"])} for step in one.trajectory],
        )
        for one in results
    ]


def test_a_sample_is_an_episode_with_its_trace_values_and_score(tmp_path: Path) -> None:
    task = Shop(2)
    ended = run(task, tmp_path / "a", jobs=2)
    assert ended.missing == 0 and ended.table == [{"accuracy": 100.0}]
    first = ended.results[0]
    assert (first.id, first.epoch, first.status, first.answer, first.steps) == ("s0", 1, "done", "0", 4)
    assert first.scores == {"correct": True, "called": 1}
    assert first.values == {"answer": 0}
    # The summary was replayed as well, and its call is not counted.
    assert first.calls == [{"name": "price", "arguments": {"what": "tea0"}, "step": 2, "failed": False}]
    assert first.verified and first.program.startswith("from shopping.shop import price")
    assert [step["action"] for step in first.trajectory] == ["search", "code", "code_summary", "done"]
    assert first.prompt_tokens > 100 and first.seconds > 0 and first.dollars is None
    assert codenav.evals.RunFolder.open(tmp_path / "a").head.facts == {"commit": "0" * 40, "profile": "full"}
    from codenav.session.api import load_episode

    assert load_episode(first.episode).request == first.request
    assert not (tmp_path / "a" / ".work").exists()
    # Episodes of evals are listed on demand.
    store = EpisodeStore(episodes_dir())
    own = store.list(evals=False)
    assert first.episode in [row.id for row in store.list()]
    assert first.episode not in [row.id for row in own] and own.hidden >= 1


def test_calls_belong_to_their_step_and_those_that_the_code_tells_of_itself_are_none(tmp_path: Path) -> None:
    def faulty(sample: Sample) -> list[Action | str]:
        begin = "from shopping.shop import price, pay\n"
        return [
            Code(begin + "price(what='tea0'); pay(amount=1, to='me'); price(what='coffee')"),
            Code("print('eval.called', 'price', {'what': 'tea0'})"),
            Code("call_host('eval.called', name='price', arguments={'what': 'tea0'})"),
            Code(begin + "answer = price(what='tea0')"),
            Done("0"),
        ]

    (result,) = run(Shop(1), tmp_path / "a", model=plays(faulty)).results
    assert [(call["name"], call["step"], call["failed"]) for call in result.calls] == [
        ("price", 1, True), ("pay", 1, True), ("price", 1, True), ("price", 4, False),
    ]  # fmt: skip


def test_a_model_without_search_gets_none_and_search_shows_what_was_asked_for(tmp_path: Path) -> None:
    seen: list[str] = []

    def watching(sample: Sample) -> FunctionModel:
        actions = iter([Search("price"), Done("0")])

        def answer(messages: Sequence[Message]) -> Action:
            seen.append("\n".join(message.content for message in messages))
            return next(actions)

        return FunctionModel(answer)

    (result,) = run(Shop(1), tmp_path / "a", model=watching, mode="no-search").results
    assert result.trajectory[0]["action"] == "invalid"
    assert "<type>search</type>" not in seen[0] and "A shop with prices." in seen[0]
    texts = {}
    for shows in ("shorter", "code", "docstrings", "prototypes"):
        (result,) = run(Shop(1), tmp_path / shows, model=watching, shows=shows).results
        texts[shows] = result.trajectory[0]["observation"]
    assert "json.loads" in texts["shorter"] and "json.loads" in texts["code"]
    assert "json.loads" not in texts["docstrings"] and "Price of a thing" in texts["docstrings"]
    assert "Price of a thing" not in texts["prototypes"] and "def price(what)" in texts["prototypes"]


def test_the_expected_answer_is_neither_in_the_prompt_nor_in_the_sandbox(tmp_path: Path) -> None:
    class Secret(Shop):
        def samples(self) -> Sequence[Sample]:
            return [replace(sample, gold=secret, facts={"why": secret}) for sample in super().samples()]

        def setting(self, mode: Mode, out: Path) -> Setting:
            return replace(super().setting(mode, out), description="")

    # Made up here, so that this file does not hold it; and cut in two, so that the step does not.
    secret = secrets.token_hex(16)
    out = tmp_path / "a"
    look = (
        "import os, sys\nnot_mine = (sys.prefix, sys.base_prefix)\n"
        "mine = [top for top in ['.', *sys.path] if not top.startswith(not_mine)]\n"
        "answer = [path for top in mine for folder, _, names in os.walk(top) if '.venv' not in folder\n"
        "  for path in [os.path.join(folder, name) for name in names]\n"
        f"  if os.path.isfile(path) and b'{secret[:9]}' b'{secret[9:]}' in open(path, 'rb').read()]\n"
        f"answer += [name for name in ('head.json', 'results.jsonl') if os.path.exists(f'{out}/{{name}}')]"
    )
    steps = [Code(look), Done("x")]
    task = Secret(1)
    (result,) = run(task, out, model=plays(lambda sample: steps)).results
    assert result.gold == secret and result.values == {"answer": []}
    assert secret not in task.attempts[0].result.prompt
    assert task.attempts[0].result.description == "No description is given."


def test_epochs_limits_ids_and_shards_choose_the_attempts(tmp_path: Path) -> None:
    ended = run(Shop(6), tmp_path / "a", epochs=2, limit=2)
    # Drawn, and the same for each number of samples; shown in the benchmark's order.
    assert [(one.id, one.epoch) for one in ended.results] == [("s1", 1), ("s5", 1), ("s1", 2), ("s5", 2)]
    assert ended.folder.head.settings["sampling"] == {"temperature": 0.8, "max_tokens": 8192, "seed": "1 to 2"}
    assert len(ended.table) == 2
    ended = run(Shop(6), tmp_path / "b", ids=["s4", "s1"])
    assert [one.id for one in ended.results] == ["s1", "s4"]
    with pytest.raises(UsageError, match="there is no sample 's9'"):
        run(Shop(6), tmp_path / "c", ids=["s9"])
    assert not (tmp_path / "c").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[codenav.evals.Run]:
    """A run to its end, to compare others with."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODENAV_HOME", str(folder / "home"))
        yield run(Shop(SAMPLES), folder / "run", jobs=2)


def test_two_shards_merged_equal_one_run(tmp_path: Path, whole: codenav.evals.Run) -> None:
    for part in (1, 2):
        run(Shop(SAMPLES), tmp_path / f"part.{part}", shard=f"{part}/2")
    merged = codenav.evals.merge([tmp_path / "part.1", tmp_path / "part.2"], tmp_path / "merged")
    assert lasting(merged.results()) == lasting(whole.results)
    assert not merged.head.differences(whole.folder.head)


def test_a_model_that_is_down_makes_errors_that_are_counted_apart_and_run_again(tmp_path: Path) -> None:
    def model(sample: Sample) -> Any:
        down = raising(ModelUnreachable("nothing answers at http://localhost:9/v1"))
        return down if sample.id == "s1" else plays()(sample)

    ended = run(Shop(3), tmp_path / "a", model=model)
    assert [one.status for one in ended.results] == ["done", "error", "done"]
    assert ended.results[1].scores["correct"] is False and "nothing answers" in ended.results[1].reason
    assert ended.missing == 1 and ended.table == [{"accuracy": pytest.approx(200 / 3)}]
    before = (tmp_path / "a" / RESULTS).read_bytes()
    task = Shop(3)
    ended = run(task, tmp_path / "a", resume=True)
    assert ended.missing == 0 and [attempt.sample.id for attempt in task.attempts] == ["s1"]
    assert (tmp_path / "a" / RESULTS).read_bytes().startswith(before)


def test_no_scorer_ends_a_run_or_passes_for_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "SCORE_SECONDS", 1.0)

    class Nameless:
        def __repr__(self) -> str:
            raise ValueError("no repr")

    def quits(attempt: Any) -> Any:
        raise SystemExit(3)

    def hangs(attempt: Any) -> Any:
        time.sleep(4)

    spoilt: dict[str, tuple[Any, str]] = {
        "s0": (lambda one: {"correct": True, "size": 10**5000}, "correct"),
        "s1": (lambda one: {"correct": numpy.False_}, "wrong"),
        "s2": (lambda one: {"correct": numpy.True_, "share": numpy.float32(0.5)}, "correct"),
        "s3": (lambda one: {"correct": True, "odd": Nameless()}, "correct"),
        "s4": (quits, "SystemExit: 3"),
        "s5": (hangs, "did not end within 1 s"),
        "s6": (lambda one: None, "not None"),
        "s7": (lambda one: {"correct": float("nan")}, "true or false, not 'nan'"),
        "s8": (lambda one: {"correct": "yes"}, "true or false, not 'yes'"),
        "s9": (lambda one: {"correct": True, "f1": float("inf")}, "`f1` is inf"),
        "s10": (lambda one: 10**5000, "scores are a mapping"),
        "s11": (lambda one: one.no_such, "AttributeError"),
    }
    ended = run(Shop(12, score=lambda one: spoilt[one.sample.id][0](one)), tmp_path / "a", jobs=2)
    for result in ended.results:
        wanted = spoilt[result.id][1]
        if wanted in ("correct", "wrong"):
            assert outcome_of(result) == wanted, result
        else:
            assert result.status == "error" and wanted in result.reason, result
    solved = RunRecord.read(tmp_path / "a").solved()
    assert (solved["correct"], solved["attempts"], solved["percent"]) == (3, 12, 25.0)


def test_runs_of_other_models_or_versions_are_not_mixed_without_a_word(tmp_path: Path) -> None:
    for part in (1, 2):
        run(Shop(4), tmp_path / f"part.{part}", shard=f"{part}/2")
    head = tmp_path / "part.2" / "head.json"
    head.write_text(
        json.dumps({**json.loads(head.read_text()), "codenav": "0.0.9", "place": {"base_url": "http://b:1/v1"}})
    )
    parts = [tmp_path / "part.1", tmp_path / "part.2"]
    with pytest.raises(UsageError, match=r"codenav \(.* and 0\.0\.9\), server \(none and http://b:1/v1\)"):
        codenav.evals.merge(parts, tmp_path / "merged")
    with pytest.raises(UsageError, match=r"0\.0\.9"):
        report(parts)
    merged = codenav.evals.merge(parts, tmp_path / "merged", anyway=True)
    assert any("0.0.9" in line for line in merged.head.mixed)
    assert "0.0.9" in " ".join(report([tmp_path / "merged"]).tables[0].rows[0].notes)
    assert merged.head.settings["sampling"] == {"temperature": 0, "max_tokens": 8192, "seed": None}
    with pytest.raises(UsageError, match=r"codenav \(0\.0\.9 and "):
        run(Shop(4), tmp_path / "part.2", shard="2/2", resume=True)
    run(Shop(4), tmp_path / "part.2", shard="2/2", resume=True, anyway=True)
    assert any("0.0.9" in line for line in RunFolder.open(tmp_path / "part.2").head.mixed)


def test_errors_without_end_stop_the_run(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="10 attempts in a row ended as errors; the last: nothing answers"):
        run(Shop(40), tmp_path / "a", model=lambda sample: raising(ModelUnreachable("nothing answers")), jobs=4)
    assert 10 <= len(RunFolder.open(tmp_path / "a").results()) < 40


def test_a_model_that_uses_up_the_time_of_each_attempt_stops_the_run(tmp_path: Path) -> None:
    def slow(messages: Sequence[Message]) -> Action:
        time.sleep(0.3)
        return Code(f"step = {len(messages)}")

    limits = Limits(seconds=0.2)
    with pytest.raises(Unavailable, match=r"10 attempts in a row used up their 0.2 s") as caught:
        run(Shop(14), tmp_path / "a", model=FunctionModel(slow), limits=limits, jobs=2)
    assert "--max-seconds" in caught.value.hint and str(tmp_path / "a") in caught.value.hint
    results = RunFolder.open(tmp_path / "a").results()
    assert 10 <= len(results) < 14 and {one.status for one in results} == {"limit"}


def test_a_model_that_writes_nothing_is_an_error_and_no_result(tmp_path: Path) -> None:
    def hangs(messages: Sequence[Message]) -> Completion:
        time.sleep(0.3)
        return Completion("")

    ended = run(Shop(1), tmp_path / "a", model=FunctionModel(hangs), limits=Limits(seconds=0.2))
    assert [one.status for one in ended.results] == ["error"] and ended.missing == 1
    assert ended.results[0].reason.startswith("the model wrote nothing: ")


def test_of_several_scripts_for_a_step_only_the_calls_of_the_one_that_was_kept_count(tmp_path: Path) -> None:
    begin = "```python\nfrom shopping.shop import price, pay\n"
    odd, even = "pay(amount=1, to='tea0')\nanswer = 5\nprint(5)\n```", "answer = price(what='tea0')\nprint(answer)\n```"
    answers = [begin + odd, begin + even, f"{begin}\n{even}", "ANSWER: 0"]
    asked: list[str] = []

    def model(messages: Sequence[Message]) -> str:
        asked.append(messages[0].content)
        return answers[len(asked) - 1]

    (result,) = run(Shop(1), tmp_path / "a", model=FunctionModel(model), profile="small", tries=3).results
    assert (result.answer, result.values, len(asked)) == ("0", {"answer": 0}, 4)
    assert [one["name"] for one in result.calls] == ["price"]
    # The small profile is run as itself: it is offered callables.
    assert (
        result.trajectory[0]["action"] == "search"
        and "from shopping.shop import" in (result.trajectory[0]["observation"])
    )
    assert asked[0].startswith("You answer a request with Python code")


def test_wrong_failed_and_limit_are_results_and_no_errors(tmp_path: Path) -> None:
    def model(sample: Sample) -> FunctionModel:
        if sample.id == "s0":
            return plays(lambda sample: [Code("answer = -1"), Done("-1")])(sample)
        if sample.id == "s1":
            return FunctionModel(lambda messages: "I cannot do that.")
        return FunctionModel(lambda messages: Code(f"step = {len(messages)}"))

    ended = run(Shop(3), tmp_path / "a", model=model, limits=Limits(steps=7))
    assert [one.status for one in ended.results] == ["done", "failed", "limit"]
    assert [one.scores["correct"] for one in ended.results] == [False, False, False]
    assert ended.missing == 0


@pytest.mark.parametrize(
    "code",
    ["import time\nwhile True: time.sleep(1)", "import os; os.kill(os.getpid(), 9)"],
    ids=["hangs", "kills its sandbox"],
)
def test_a_sample_that_misbehaves_ends_and_the_next_one_runs(tmp_path: Path, code: str) -> None:
    def bad(sample: Sample) -> list[Action | str]:
        return [Code(code), Done("gone")] if sample.id == "s0" else script(sample)

    ended = run(Shop(2), tmp_path / "a", model=plays(bad), limits=Limits(seconds=4.0))
    assert ended.results[0].status in ("done", "limit") and not ended.results[0].scores["correct"]
    assert ended.results[1].scores["correct"]


def test_dollars_are_counted_where_a_price_is_known(tmp_path: Path) -> None:
    def model(sample: Sample) -> FunctionModel:
        from codenav.core.usage import Usage

        usage = Usage(requests=1, input_tokens=1000, output_tokens=10)
        return FunctionModel(lambda messages: Completion(Done("0").to_xml(), usage=usage))

    (result,) = run(Shop(1), tmp_path / "a", model=model, price=(2.5, 10)).results
    assert result.dollars == pytest.approx(0.0026)


def test_samples_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    class Odd(Shop):
        def __init__(self, *samples: Sample) -> None:
            super().__init__()
            self._odd = samples

        def samples(self) -> Sequence[Sample]:
            return self._odd

    for samples, message in (
        ([Sample("a", "x"), Sample("a", "y")], "two samples have the id a"),
        ([Sample("a/b", "x")], "'a/b' is no id"),
        ([Sample("", "x")], "'' is no id"),
        ([Sample("a", " \n")], "the request of sample a is empty"),
        ([Sample("a", "x", files={"../up": b""})], "sample a has a file '../up'"),
        ([Sample("a", "x", files={"/etc/x": b""})], "sample a has a file '/etc/x'"),
        ([], "the task has no samples"),
    ):
        with pytest.raises(UsageError, match=message):
            run(Odd(*samples), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_an_existing_run_is_neither_overwritten_nor_resumed_with_other_settings(tmp_path: Path) -> None:
    run(Shop(1), tmp_path / "a")
    before = (tmp_path / "a" / RESULTS).read_bytes()
    with pytest.raises(UsageError, match="holds a run already"):
        run(Shop(1), tmp_path / "a")
    for more, name in (
        ({"epochs": 2}, "epochs"), ({"limits": Limits(steps=3)}, "limits"), ({"mode": "tool-use"}, "mode"),
        ({"shows": "code"}, "shows"), ({"price": (1, 2)}, "price"), ({"model": "another"}, "model"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=f"other settings: {name}"):
            run(Shop(1), tmp_path / "a", resume=True, **more)
    assert (tmp_path / "a" / RESULTS).read_bytes() == before
    task = Shop(1)
    assert run(task, tmp_path / "a", resume=True).missing == 0 and not task.attempts


def test_wrong_options_are_one_clear_error(tmp_path: Path) -> None:
    for name, value in (
        ("epochs", 0), ("jobs", 0), ("limit", 0), ("shard", "3/2"), ("mode", "talk"), ("shows", "nothing"), ("lnit", 1),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            run(Shop(1), tmp_path / "a", **{name: value})
        assert caught.value.hint and not (tmp_path / "a").exists(), name


def test_what_is_wrong_with_every_sample_stops_the_run_before_the_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        run(Shop(2), tmp_path / "a", model="scripted:/nowhere")
    assert not RunFolder.holds(tmp_path / "a")
    assert run(Shop(1), tmp_path / "a").missing == 0


def test_without_a_model_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ModelNotConfigured, match="no model of it"):
        run(Shop(), tmp_path / "out", model=None, base_url="http://127.0.0.1:9/v1")
    assert not (tmp_path / "out").exists()


def test_a_setting_that_cannot_be_made_leaves_no_folder(tmp_path: Path) -> None:
    class Missing(Shop):
        def setting(self, mode: Mode, out: Path) -> Setting:
            raise Unavailable("torch is missing")

    with pytest.raises(Unavailable, match="torch is missing"):
        run(Missing(1), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_progress_of_a_resumed_run_counts_what_was_there(tmp_path: Path) -> None:
    def model(sample: Sample) -> Any:
        return plays()(sample) if sample.gold < 2 else raising(ModelFailed("no"))

    run(Shop(4), tmp_path / "a", model=model)
    told: list[codenav.evals.Progress] = []
    run(Shop(4), tmp_path / "a", resume=True, finished=told.append)
    assert [(one.done, one.total, one.errors) for one in told] == [(3, 4, 0), (4, 4, 0)]
    assert told[-1].seconds_left == 0


PROCESS = f"""
import sys
sys.path.insert(0, sys.argv[1])
from evals_task import Shop, plays
import codenav.evals, pathlib
out = pathlib.Path(sys.argv[2])
resume = (out / "head.json").exists()
codenav.evals.run(Shop({SAMPLES}), out=out, model=plays(), jobs=2, checks_lint=False, checks_types=False, resume=resume)
"""


def started(out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROCESS, str(OWN), str(out)], env=os.environ, start_new_session=True)


def until(out: Path, lines: int) -> None:
    """Wait until a run has that many results."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if (out / RESULTS).exists() and (out / RESULTS).read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.01)
    raise AssertionError("no results")


def test_a_killed_run_is_resumed_with_the_same_results(tmp_path: Path, whole: codenav.evals.Run) -> None:
    out = tmp_path / "a"
    process = started(out)
    until(out, 2)
    process.kill()
    process.wait()
    kept = RunFolder.open(out).finished()
    assert 2 <= len(kept) < SAMPLES
    task = Shop(SAMPLES)
    ended = run(task, out, jobs=2, resume=True)
    assert {(attempt.sample.id, 1) for attempt in task.attempts}.isdisjoint(kept)
    assert lasting(ended.results) == lasting(whole.results)
    ids = [json.loads(line)["id"] for line in (out / RESULTS).read_bytes().splitlines()]
    assert sorted(ids) == sorted(set(ids))


def test_an_interrupted_run_keeps_what_is_finished_and_leaves_nothing(tmp_path: Path) -> None:
    import signal

    out = tmp_path / "a"
    process = started(out)
    until(out, 1)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) != 0
    assert 1 <= len(RunFolder.open(out).finished()) < SAMPLES
    assert not (out / ".work").exists()
