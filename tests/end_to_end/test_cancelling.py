"""`cancel` from another thread, in each phase of an episode: it ends soon, whole, and nothing of it goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import Begun, ChatServer, Fault, Hang

import codenav
from codenav.agents import CodeNavAgent
from codenav.agents.models import ChatModel
from codenav.core import cancelling
from codenav.core.actions import Action
from codenav.core.cancelling import CancelScope, current_scope
from codenav.core.errors import Cancelled, UsageError
from codenav.core.messages import Message
from codenav.environments import CodeEnvironment, DoneEnvironment

SOON = 20.0
"""Seconds, on a machine that has other things to do; what is cancelled would last 1,000."""


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    yield
    deadline = time.monotonic() + SOON
    while any(thread.name in ("codenav-cancel", "codenav-checks") for thread in threading.enumerate()):
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.05)


def cancelled_when(ready: threading.Event, cancel: Callable[[], None], *, after: float = 0.3) -> threading.Thread:
    """A thread that cancels, some time after something has happened."""

    def work() -> None:
        assert ready.wait(60)
        time.sleep(after)
        cancel()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def ended(episode: codenav.Episode, ready: threading.Event) -> codenav.EpisodeResult:
    """The result of an episode that is cancelled once `ready` is set."""
    since: list[float] = []

    def cancel() -> None:
        since.append(time.monotonic())
        episode.cancel()
        episode.cancel()

    thread = cancelled_when(ready, cancel)
    result = episode.run()
    took = time.monotonic()
    ready.set()
    thread.join()
    assert took - since[0] < SOON, result.reason
    assert (result.status, result.reason, result.exit_code) == ("interrupted", "cancelled", 130)
    return result


def asking(model: Any) -> codenav.Episode:
    return codenav.Episode("Go.", agent=CodeNavAgent(model), environments=[DoneEnvironment()])


# The model ---------------------------------------------------------------------------------------------------------


def test_while_a_model_streams_what_it_had_written_is_kept(chat_server: ChatServer) -> None:
    chat_server.script = [Begun("<thought>I think", "deeply", usage={"prompt_tokens": 70, "completion_tokens": 5})]
    heard = threading.Event()
    model = ChatModel("m", base_url=chat_server.url, heard=lambda piece: heard.set() if piece.text else None)
    result = ended(asking(model), heard)
    assert result.unfinished and (result.unfinished.response, result.unfinished.reasoning) == (
        "<thought>I think",
        "deeply",
    )
    assert (result.usage.requests, result.usage.tokens) == (1, 75)
    model.close()


def test_while_a_model_is_silent_only_that_episode_ends(chat_server: ChatServer) -> None:
    """The model is shared, as by the threads of a server."""
    begun, served = threading.Event(), threading.Event()

    def second(body: dict[str, Any]) -> Action:
        served.wait(60)
        return codenav.Done("fine")

    chat_server.conversation("Hang.", [Hang()])
    chat_server.conversation("Wait.", [second])
    model = ChatModel("m", base_url=chat_server.url, heard=lambda piece: begun.set())
    agents = [CodeNavAgent(model), CodeNavAgent(model)]
    hanging, other = (
        codenav.Episode(request, agent=agent, environments=[DoneEnvironment()])
        for request, agent in zip(("Hang.", "Wait."), agents, strict=True)
    )
    beside = threading.Thread(target=other.run)
    beside.start()
    chat_server.wait_for(1)
    begun.clear()
    ended(hanging, begun)
    assert not other.ended
    served.set()
    beside.join(60)
    assert other.result.answer == "fine"
    model.close()


def test_while_a_client_waits_to_ask_again(chat_server: ChatServer) -> None:
    chat_server.script = lambda body: Fault(503, headers={"Retry-After": "50"})
    told = threading.Event()
    model = ChatModel("m", base_url=chat_server.url, notice=lambda text: told.set())
    assert ended(asking(model), told).usage.requests == 1
    model.close()


def test_a_function_ends_by_itself_and_its_action_is_not_carried_out() -> None:
    begun = threading.Event()

    def slowly(messages: Sequence[Message]) -> Action:
        begun.set()
        time.sleep(1)
        return codenav.Done("too late")

    result = ended(asking(codenav.FunctionModel(slowly)), begun)
    assert (result.answer, result.steps) == ("", ())
    assert result.under_way and result.under_way.action.content == "too late"


# The sandbox -------------------------------------------------------------------------------------------------------


class Watch:
    """A listener that says when an action of a type is carried out."""

    def __init__(self, type: str, *, number: int = 1) -> None:
        self.ready = threading.Event()
        self._type, self._number = type, number

    def __call__(self, event: codenav.Event) -> None:
        acted = isinstance(event, codenav.ActionTaken) and (event.action.type, event.number) == (
            self._type,
            self._number,
        )
        observed = isinstance(event, codenav.StepEnded) and f"{event.step.action.type} done" == self._type
        if acted or observed:
            self.ready.set()


@pytest.mark.parametrize(
    "code",
    [
        "print('began')\ntime.sleep(1000)",
        "while True:\n    try:\n        time.sleep(1000)\n    except BaseException: pass",
    ],
    ids=["sleeps", "catches every interrupt"],
)
def test_while_code_runs(code: str) -> None:
    script = [codenav.Code("import time\nx = 1"), codenav.Code(code), codenav.Done("never")]
    watch = Watch("code", number=2)
    with codenav.sandbox("bubblewrap") as box:
        episode = codenav.Episode(
            "Go.",
            agent=CodeNavAgent(codenav.ScriptedModel(script)),
            environments=[CodeEnvironment(box), DoneEnvironment()],
            listeners=[watch],
        )
        result = ended(episode, watch.ready)
        assert [step.observation.ok for step in result.steps] == [True, False]
        shown = result.steps[1].observation.text
        assert "KeyboardInterrupt" in shown and ("began" in shown) == ("began" in code)
        assert result.summary.code == "import time\nx = 1\n"
        assert box.run("x += 1; x").stdout.strip() == "2"


def test_a_session_goes_on_after_a_cancelled_request(library: Path) -> None:
    script = [
        codenav.Code("import time\nx = 41"),
        codenav.Code("time.sleep(1000)"),
        codenav.Code("x += 1\nprint(x)"),
        codenav.Done("42"),
    ]
    watch = Watch("code", number=2)
    checks = codenav.CheckOptions(types=False)
    with codenav.Session(on=library, model=codenav.ScriptedModel(script), listeners=[watch], checks=checks) as session:
        thread = cancelled_when(watch.ready, session.cancel)
        first = session.run("Sleep.")
        thread.join()
        session.cancel()
        second = session.run("What is x?")
    assert (first.status, first.exit_code, len(first.steps)) == ("interrupted", 130, 2)
    assert codenav.load_episode(first.id).to_dict() == first.to_dict()
    assert (second.status, second.answer) == ("done", "42")
    assert second.steps[0].observation.ok and second.summary.verified, second.summary.reason


# The replay --------------------------------------------------------------------------------------------------------


def test_while_the_summary_is_verified_the_answer_is_kept(library: Path) -> None:
    actions: Iterator[Action] = iter(
        [
            codenav.Code("import time\nfirst = time.monotonic()"),
            codenav.Code("if time.monotonic() - first < 0.4:\n    time.sleep(1000)"),
            codenav.Done("the answer"),
        ]
    )

    def slowly(messages: Sequence[Message]) -> Action:
        # In the episode a model call lies between the two steps; in the replay nothing does.
        time.sleep(0.5)
        return next(actions)

    watch = Watch("done done")
    checks = codenav.CheckOptions(lint=False, types=False)
    model = codenav.FunctionModel(slowly)
    with codenav.Session(on=library, model=model, listeners=[watch], checks=checks) as session:
        result = ended(session.episode("Go."), watch.ready)
    assert (result.answer, result.summary.verified) == ("the answer", False)
    assert codenav.load_episode(result.id).to_dict() == result.to_dict()


def test_while_the_agents_summary_is_replayed(library: Path) -> None:
    script = [codenav.Code("x = 1"), codenav.CodeSummary("x = 1\nimport time\ntime.sleep(1000)"), codenav.Done("1")]
    watch = Watch("code_summary", number=2)
    checks = codenav.CheckOptions(lint=False, types=False)
    model = codenav.ScriptedModel(script)
    with codenav.Session(on=library, model=model, listeners=[watch], checks=checks) as session:
        result = ended(session.episode("Go."), watch.ready)
    assert [step.action.type for step in result.steps] == ["code"], "no verdict of a replay that was cut off"
    assert result.under_way and result.under_way.action.type == "code_summary"
    assert codenav.load_episode(result.id).to_dict() == result.to_dict()


# Before, between and after -----------------------------------------------------------------------------------------


def never(messages: Sequence[Message]) -> Action:
    raise AssertionError("nothing was to be asked")


def test_before_the_start_nothing_runs() -> None:
    episode = asking(codenav.FunctionModel(never))
    episode.cancel()
    assert episode.result.status == "running"
    names = [event.name for event in episode.stream()]
    assert names == ["run_started", "run_ended"]
    assert (episode.result.status, episode.result.steps) == ("interrupted", ())


def test_before_the_start_and_never_run_it_ends_with_its_session(library: Path) -> None:
    with codenav.Session(on=library, model=codenav.FunctionModel(never), sandbox="process") as session:
        session.episode("Go.").cancel()
    assert codenav.load_episode().status == "interrupted"


def test_a_request_that_is_cancelled_while_its_sandbox_starts_does_not_run(library: Path) -> None:
    """`notice` is told of the process sandbox as the session opens; the environments are made when it has started."""

    def cancelling(parts: codenav.EpisodeParts) -> Sequence[Any]:
        session.cancel()
        return codenav.standard_environments(parts)

    model = codenav.FunctionModel(never)
    with codenav.Session(on=library, model=model, sandbox="process", environments=cancelling) as session:
        assert session.run("Go.").status == "interrupted"


def test_between_two_events_by_the_thread_that_reads_them() -> None:
    model = codenav.ScriptedModel(["no action", codenav.Done("never")])
    episode = asking(model)
    names = []
    for event in episode.stream():
        names.append(event.name)
        if isinstance(event, codenav.StepEnded):
            episode.cancel()
    assert names == ["run_started", "acted", "observed", "run_ended"]
    assert (episode.result.status, len(episode.result.steps)) == ("interrupted", 1)


def test_after_the_end_nothing_changes() -> None:
    episode = asking(codenav.ScriptedModel([codenav.Done("1")]))
    result = episode.run()
    episode.cancel()
    assert episode.result == result and result.status == "done"


def test_step_raises_it() -> None:
    episode = asking(codenav.FunctionModel(never))
    episode.cancel()
    with pytest.raises(Cancelled):
        episode.step()
    assert episode.ended
    with pytest.raises(UsageError, match="over"):
        episode.step()


# The scope ---------------------------------------------------------------------------------------------------------


def test_a_wake_is_repeated_until_what_waits_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "AGAIN_SECONDS", 0.05)
    scope, woken = CancelScope(), threading.Semaphore(0)
    with scope.waking(woken.release):
        scope.cancel()
        for _ in range(3):
            assert woken.acquire(timeout=SOON)
    while woken.acquire(blocking=False):
        pass
    assert not woken.acquire(timeout=0.2), "it was woken after its end"


def test_what_is_cancelled_already_does_not_begin() -> None:
    scope = CancelScope()
    scope.cancel()
    with pytest.raises(Cancelled), scope.waking(lambda: None):
        raise AssertionError("it began")
    with pytest.raises(Cancelled):
        scope.sleep(1000)
    assert not scope.wait(threading.Event())


def test_a_scope_holds_in_the_thread_and_the_time_in_which_it_was_entered() -> None:
    scope, found = CancelScope(), []
    with scope.entered():
        assert current_scope() is scope
        thread = threading.Thread(target=lambda: found.append(current_scope()))
        thread.start()
        thread.join()
    assert found[0] is not scope and current_scope() is not scope
