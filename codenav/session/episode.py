"""The loop that joins an agent and its environments for one request, from the first action to the answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codenav.core.actions import CodeObservation, DoneObservation, Step, Turn
from codenav.core.cancelling import CancelScope
from codenav.core.errors import Cancelled, CodeNavError, Interrupted, LimitReached, StorageFull, UsageError
from codenav.core.events import (
    ActionTaken,
    Event,
    Notice,
    RunEnded,
    Status,
    StepEnded,
    ToolCalled,
    Unfinished,
)
from codenav.core.execution import ToolCall
from codenav.core.limits import Limits
from codenav.core.messages import Completion
from codenav.core.protocols import Agent, Environment, Listener, Reviewer, Sandbox, Verifier
from codenav.core.system.terminal_text import shortened
from codenav.core.usage import Usage
from codenav.episodes.record import EpisodeResult, joined
from codenav.session.answer_value import value_of
from codenav.session.budget import Budget
from codenav.session.conclusion import Conclusion
from codenav.session.episode_facts import EpisodeFacts, checked_request, names_of
from codenav.session.repeats import Repeats
from codenav.session.responding import Responder

if TYPE_CHECKING:
    import pandas

LATE_CHARACTERS = 2000
"""Most characters shown of what threads and child processes printed after the last step."""


class Episode:
    """One request, with the agent and environments that work on it.

    Every ending (done, a limit, a failure, Ctrl-C) takes one path: a `RunEnded` event to every listener.
    """

    def __init__(
        self,
        request: str,
        *,
        agent: Agent,
        environments: Sequence[Environment],
        description: str = "",
        limits: Limits | None = None,
        listeners: Sequence[Listener] = (),
        verify: Verifier | None = None,
        reviewers: Sequence[Reviewer] = (),
        earlier: Sequence[Step] = (),
        facts: EpisodeFacts | None = None,
        sandbox: Sandbox | None = None,
    ) -> None:
        """Join the parts. Nothing runs yet.

        `verify` replays the code summary; without it no summary is ever marked verified. `reviewers` read the answer
        before it ends the episode, and may send it back. `earlier` are steps that ran before in the same sandbox: a
        summary made of steps begins with them. `facts` go into the record. `sandbox` is asked for what threads and
        children have printed after the last step, and for the value that the answer rests on. Listeners are called in
        order, and an error that one raises ends the episode.

        Raises:
            UsageError: the request is empty, or two environments answer the same action.
        """
        self.request = checked_request(request)
        self.limits = limits or Limits()
        self.steps: list[Step] = []
        self._agent = agent
        self._budget, self._repeats = Budget(self.limits), Repeats(self.limits.repeats)
        self._responder = Responder(environments, reviewers, self._budget)
        self._listeners = list(listeners)
        self._sandbox = sandbox
        self._scope = CancelScope()
        self._started = False
        self._under_way: ActionTaken | None = None
        self._called: list[ToolCalled] = []
        self._unsent: list[Event] = []
        """Calls and notices that listeners know of and the stream does not."""
        self._emitting = threading.RLock()
        self._unfinished: Unfinished | None = None
        self._ended: RunEnded | None = None
        prompt = agent.brief(request, description=description, environments=environments)
        facts = facts or EpisodeFacts()
        self._folder = facts.folder
        self._conclusion = Conclusion(request, names_of(facts.sources), tuple(earlier), verify)
        self._head = facts.head(request, model=agent.name, description=description, prompt=prompt, limits=self.limits)

    def stream(self) -> Generator[Event]:
        """Run to the end, yielding each event as it happens.

        A caller that stops reading ends the episode as interrupted, and so does `cancel`. Codenav's own errors are not
        raised but contained in the last event. Ctrl-C is raised again after the last event.
        """
        try:
            with self._one_ending():
                if not self._started:
                    yield self._start()
                while self._ended is None:
                    yield from self._events_of_a_step()
        except CodeNavError:
            if self._ended:
                yield self._ended

    def step(self) -> Step:
        """Take one step, for callers that drive the loop themselves.

        Raises:
            LimitReached: a limit has been reached. The episode is then over.
            Cancelled: another thread called `cancel`. The episode is then over.
            UsageError: the episode is over.
            ModelUnreachable, ModelRefused, ModelFailed: the agent raised it. The episode is then over.
        """
        if self.ended:
            raise UsageError("the episode is over", hint="start a new one")
        with self._one_ending():
            if not self._started:
                self._start()
            for _ in self._events_of_a_step():
                pass
        return self.steps[-1]

    def notice(self, text: str) -> None:
        """Add a notice for a person to the record, and to the stream before the next step."""
        if self._started and not self.ended:
            self._unsent.append(self._emit(Notice(text)))

    def cancel(self) -> None:
        """End the episode as interrupted, from any thread. Returns at once; safe to call twice, and after the end.

        The thread that runs the episode ends what is under way: it gives up a request to a model (what the model had
        written is kept), interrupts a step of code (the variables of the sandbox stay), closes a replay. The record
        then ends like any other, and `run` and `stream` return as usual. An episode that nobody runs ends with its
        next step, or with `close`. Your own functions (`ask`, a `FunctionModel`, a listener) are not interrupted: the
        episode ends when they return.
        """
        self._scope.cancel()

    def called(self, call: ToolCall, by: str = "step") -> None:
        """Add a call to a tool that the code of the current step made. Callable from any thread.

        `by` is `replay` for a call of a replay. Raises what a listener raises.
        """
        under_way = self._under_way
        number = under_way.number if under_way else max(len(self.steps), 1)
        event = ToolCalled(number, call, by)
        with self._emitting:
            if self._ended is None:
                self._called.append(event)
                self._unsent.append(event)
                self._emit(event)

    def close(self) -> None:
        """End an episode that has not ended, as interrupted. Safe to call twice."""
        if self._ended is None:
            if not self._started:
                self._start()
            self._end(RunEnded(Status.INTERRUPTED, reason="closed before it had ended", exit_code=130))

    def run(self) -> EpisodeResult:
        """Run to the end, and return the result."""
        for _ in self.stream():
            pass
        return self.result

    @property
    def usage(self) -> Usage:
        """The cost so far, of agent and judges."""
        return self.result.usage

    @property
    def ended(self) -> bool:
        """True once there is an answer, or a reason why there is none."""
        return self._ended is not None

    @property
    def result(self) -> EpisodeResult:
        """The current state of the episode, final once `ended`."""
        steps, calls = joined(self.steps, self._called)
        result = replace(
            EpisodeResult.told_by(self._head, folder=self._folder),
            steps=tuple(steps),
            calls=tuple(calls),
            under_way=self._under_way,
            unfinished=self._unfinished,
            **self._budget.spent,
        )
        return result.ended_by(self._ended) if self._ended else result

    def value(self) -> Any:
        """Return the value that the answer rests on, as JSON data; None if there is none. The sandbox is asked."""
        return value_of(self._sandbox, self.steps) if self._sandbox else None

    def to_frame(self) -> pandas.DataFrame:
        """Return a table with one row per step: thought, action, outcome, what was shown, seconds, tokens."""
        return self.result.to_frame()

    def to_notebook(self, path: str | Path) -> Path:
        """Write the episode as a notebook with its outputs and pictures."""
        return self.result.to_notebook(path)

    def __repr__(self) -> str:
        state = self._ended.status.value if self._ended else "running"
        return f"<Episode {self._head.id} {state}, {len(self.steps)} steps: {self.request[:60]!r}>"

    @contextmanager
    def _one_ending(self) -> Iterator[None]:
        """End the episode on any exception, and raise it again."""
        try:
            yield
        except Cancelled:
            self._end(RunEnded(Status.INTERRUPTED, reason="cancelled", exit_code=130))
            raise
        except CodeNavError as error:
            status = Status.LIMIT if isinstance(error, LimitReached) else Status.ERROR
            self._end(RunEnded(status, reason=str(error), hint=error.hint, exit_code=error.exit_code))
            raise
        except (KeyboardInterrupt, GeneratorExit):
            self._end(RunEnded(Status.INTERRUPTED, reason="interrupted", exit_code=130))
            raise
        except BaseException as error:
            self._end(RunEnded(Status.ERROR, reason=f"a fault of codenav: {error!r}", exit_code=1))
            raise

    def _start(self) -> Event:
        self._started = True
        self._budget.begin()
        return self._emit(self._head)

    def _events_of_a_step(self) -> Iterator[Event]:
        began = time.monotonic()
        self._check()
        try:
            with self._scope.entered():
                turn = self._agent.act(self.steps, timeout=self._budget.left)
        except CodeNavError as error:
            yield from self._cut_off(error.partial)
            # A model that was cut off by the time limit, or by `cancel`, has not failed.
            self._check()
            raise
        except Interrupted as error:
            for _ in self._cut_off(error.partial):
                pass
            raise
        yield from self._flush()
        self._budget.spend(self._agent.name, turn.usage)
        self._under_way = ActionTaken(len(self.steps) + 1, turn.action)
        yield self._emit(self._under_way)
        step = self._carry_out(turn, began)
        self._under_way = None
        self.steps.append(step)
        observed = self._emit(StepEnded(step))
        yield from self._flush()
        yield observed
        if step.observation.ends:
            self._tell_late_output()
            ended = self._end(self._answered(step))
            yield from self._flush()
            yield ended
        elif reason := self._budget.wasted(self.steps) or self._repeats.reason:
            hint = "try another model; codenav episodes show last tells what it wrote"
            yield self._end(RunEnded(Status.FAILED, reason=reason, hint=hint, exit_code=1))

    def _tell_late_output(self) -> None:
        if self._sandbox and any(isinstance(step.observation, CodeObservation) for step in self.steps):
            with suppress(CodeNavError):
                if text := self._sandbox.run("").late_output.strip():
                    told = shortened(text, LATE_CHARACTERS)
                    self.notice(f"output after the last step, from threads or child processes: {told}")

    def _check(self) -> None:
        self._scope.check()
        self._budget.check(steps=len(self.steps))

    def _cut_off(self, partial: Completion | None) -> Iterator[Event]:
        """Count and keep what a failed model call has cost and written."""
        if partial is None:
            return
        self._budget.spend(self._agent.name, partial.usage)
        if partial.text or partial.reasoning:
            self._unfinished = Unfinished(partial.text, partial.reasoning, partial.usage)
            yield self._emit(self._unfinished)

    def _carry_out(self, turn: Turn, began: float) -> Step:
        self._scope.check()
        with self._scope.entered(), self._budget.clock.current():
            observation = self._responder.respond(turn, self.steps, timeout=self._budget.left)
        chosen = observation.chosen if isinstance(observation, CodeObservation) else ""
        step = Step(
            number=len(self.steps) + 1,
            action=replace(turn.action, content=chosen) if chosen else turn.action,
            observation=observation,
            seconds=time.monotonic() - began,
            usage=turn.usage,
            response=turn.response,
            reasoning=turn.reasoning,
            handover=turn.handover,
        )
        return self._repeats.noted(step)

    def _answered(self, step: Step) -> RunEnded:
        seen = step.observation
        done = seen if isinstance(seen, DoneObservation) else DoneObservation(seen.text)
        if done.gave_up:
            return RunEnded(Status.FAILED, reason=done.text or "the agent gave up", exit_code=1)
        with self._scope.entered():
            summary = self._conclusion.summary(self.steps, done.text, self._budget.left)
        return RunEnded(Status.DONE, answer=done.text, summary=summary, agreement=done.agreement)

    def _end(self, ending: RunEnded) -> RunEnded:
        if self._ended is None:
            summary = ending.summary if ending.summary.code else self._conclusion.kept(self.steps, ending.reason)
            told = {**self._responder.told, **self._budget.spent}
            self._ended = replace(ending, seconds=self._budget.seconds, summary=summary, **told)
            with self._emitting:
                for listener in self._listeners:
                    try:
                        listener(self._ended)
                    except StorageFull as error:
                        # The run is over, and its answer must still be returned.
                        self._ended = replace(self._ended, reason=self._ended.reason or str(error))
        return self._ended

    def _emit(self, event: Event) -> Event:
        with self._emitting:
            for listener in self._listeners:
                listener(event)
        return event

    def _flush(self) -> Iterator[Event]:
        while self._unsent:
            yield self._unsent.pop(0)
