"""The way back into an ended episode: its variables by running its steps again, and what came of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from codenav.core.actions import Code, CodeObservation, Step
from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.events import Status
from codenav.core.execution import Execution, Outcome, Ran, ToolCall, Variable
from codenav.core.protocols import CallHandler, Sandbox
from codenav.core.system.terminal_text import shortened
from codenav.environments.shapes import shapes_of
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.session.host_calls import recorded
from codenav.session.questions import with_answers
from codenav.session.workspace import Workspace

SHOWN = 60
"""Characters of a value that is another one now."""
TOLD = 2000
"""Characters of the code of earlier steps that the model is shown, the newest of it."""
_ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True)
class Past:
    """An episode to go on from, after those that it went on from itself."""

    episodes: Sequence[EpisodeResult]
    """Oldest first."""
    lines: list[str] = field(default_factory=list)
    """What became of each variable, once `restore` has run."""

    @classmethod
    def load(cls, store: EpisodeStore, name: str) -> Past:
        """Load an episode and its ancestors.

        Raises:
            NotFound, UsageError: there is no such episode, or it is still running.
            CodeNavError: a record cannot be read.
        """
        chain = [store.load(name)]
        if chain[0].status is Status.RUNNING:
            raise UsageError(f"{chain[0].id} is still running", hint="end it first: Ctrl-C in its terminal")
        while chain[0].parent and len(chain) < 100:
            chain.insert(0, store.load(chain[0].parent))
        return cls(chain)

    @property
    def newest(self) -> EpisodeResult:
        """The episode to go on from."""
        return self.episodes[-1]

    @property
    def steps(self) -> list[Step]:
        """Every step of code that ran, oldest first."""
        steps = [step for episode in self.episodes for step in episode.steps]
        return [step for step in steps if isinstance(step.observation, CodeObservation)]

    @property
    def sources(self) -> list[str]:
        """The sources of the episode, as `--on` takes them."""
        named = [str(source["source"]) for source in self.newest.sources]
        return [name.partition("@")[0] if name.startswith("pkg:") else name for name in named]

    def _changed_sources(self, facts: Sequence[dict[str, Any]]) -> Iterator[str]:
        """A sentence for each source that is another version now."""
        before = {name: version for source in self.newest.sources for name, version in source["versions"].items()}
        now = {name: version for source in facts for name, version in source["versions"].items()}
        for name in before.keys() & now.keys():
            if before[name] != now[name]:
                yield f"{name} is {now[name]} now and was {before[name]}"
        # Older records have no fingerprint.
        files = {one["source"]: one["fingerprint"] for one in self.newest.sources if "fingerprint" in one}
        for one in facts:
            if files.get(one["source"], one["fingerprint"]) != one["fingerprint"]:
                yield f"the files of {one['source']} have changed since"

    def restore(self, space: Workspace, calls: CallHandler | None, facts: Sequence[dict[str, Any]]) -> list[str]:
        """Run the steps again in a fresh sandbox; calls to tools get the answers of the record, and nothing is sent.

        A step that timed out, crashed or ran out of memory does not run again. `facts` are those of the sources now.
        Returns a line for each source and step that is another one, and for each variable.
        """
        answers = _Answers([call for step in self.steps for call in _calls(step)])
        again: dict[int, Execution] = {}
        with recorded(calls).answered_by(answers) if calls else nullcontext():
            for place, step in enumerate(self.steps):
                before = _execution(step)
                if before.outcome in (Outcome.OK, Outcome.ERROR):
                    again[place] = space.sandbox.run(step.action.content)
                    space.ran.append(Ran(step.action.content, again[place]))
        self.lines[:] = [
            *self._changed_sources(facts),
            *self._steps_that_differ(again),
            *self._cut_off(),
            *self._variables(space.sandbox, again),
        ]
        return self.lines

    def _steps_that_differ(self, again: dict[int, Execution]) -> Iterator[str]:
        for place, step in enumerate(self.steps):
            before, now = _execution(step).outcome, again.get(place)
            if now is None:
                yield f"step {step.number} does not run again: it ended with {before.value}"
            elif now.outcome is not before:
                error = f": {now.error.type}: {now.error.message}" if now.error else ""
                yield f"step {step.number} ended with {before.value} and now with {now.outcome.value}{error}"

    def _cut_off(self) -> Iterator[str]:
        """A sentence for each step in which a run ended, with the calls that it had made."""
        for episode in self.episodes:
            if episode.under_way and isinstance(episode.under_way.action, Code):
                number = episode.under_way.number
                made = [f"{one.call.tool} ({one.call.outcome})" for one in episode.calls if one.number == number]
                called = f" after calls of {', '.join(made)}" if made else ""
                yield f"step {number} does not run again: the run ended in it{called}"

    def _variables(self, sandbox: Sandbox, again: dict[int, Execution]) -> Iterator[str]:
        """A line for each variable that the steps have bound."""
        before: dict[str, tuple[Variable, int]] = {}
        for place, step in enumerate(self.steps):
            # What a crash or a timeout left was gone then, too.
            kept = _execution(step).changed if place in again else ()
            before |= {item.name: (item, place) for item in kept}
        try:
            held = sandbox.variables()
        except SandboxUnavailable as error:
            yield f"nothing restored: {error}"
            return
        shapes = shapes_of(sandbox, [name for name in before if name in held])
        for name, (then, place) in before.items():
            now = held.get(name)
            if now is None and again[place].outcome is _execution(self.steps[place]).outcome:
                continue  # A later step has removed it, then and now.
            if now is None:
                yield f"not restored {name}: {then.type}, its step failed"
            elif now.type != then.type or _plain(now) != _plain(then):
                told = f"{shortened(now.repr, SHOWN)} now and {shortened(then.repr, SHOWN)} then"
                yield f"differs {name}: {now.type}, {told}"
            else:
                yield f"restored {name}: {now.type} {shapes.get(name, '')}".rstrip()

    def told(self) -> str:
        """The text for a model: what was asked, what ran, and what is there again."""
        asked = [f"- {with_answers(one)} → {one.answer or one.reason or one.status.value}" for one in self.episodes]
        code = "\n\n".join(step.action.content.strip() for step in self.steps if step.observation.ok)
        code = code if len(code) <= TOLD else f"# … {len(code) - TOLD} characters before\n{code[-TOLD:]}"
        parts = ["Earlier, and now gone on with:", *asked]
        parts += ["Code that ran, and need not run again:", code] if code else []
        cut = self.newest.under_way
        if cut and isinstance(cut.action, Code):
            warning = "Code in which the run ended; calls of it may have arrived, so look before you repeat one:"
            parts += [warning, cut.action.content.strip()[-TOLD:]]
        return "\n".join([*parts, *(["State of the variables:", *self.lines] if self.lines else [])])


class _Answers:
    """A handler of calls that gives the answers of a record, and sends nothing."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self._left = list(calls)

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        from codenav.tools.broker.arguments import without_content

        tool = name.removeprefix("tools/").replace("/", ".")
        given = without_content(arguments.get("arguments") or {})
        found = next((one for one in self._left if one.tool == tool and one.arguments == given), None)
        if found is None:
            return {"refused": f"the record has no such call of {tool}; nothing is sent while the state is restored"}
        self._left.remove(found)
        if found.outcome in ("ok", "replayed", "dry-run"):
            if "$file" in str(found.answer):
                return {"refused": f"the record does not hold the file that {tool} answered with"}
            return {"value": found.answer}
        if found.outcome == "refused":
            return {"refused": found.shown}
        return {"error": {"status": found.status, "message": found.shown, "body": found.answer}}


def _execution(step: Step) -> Execution:
    assert isinstance(step.observation, CodeObservation)
    return step.observation.execution


def _calls(step: Step) -> Sequence[ToolCall]:
    return step.observation.calls if isinstance(step.observation, CodeObservation) else ()


def _plain(variable: Variable) -> str:
    return _ADDRESS.sub("0x…", variable.repr)
