"""The record of an episode, read back: the result of `codenav.run` and the document that `--json` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from codenav.core.actions import CodeObservation, Step, Summary
from codenav.core.errors import CodeNavError, UsageError
from codenav.core.events import ActionTaken, Event, RunEnded, RunStarted, Status, ToolCalled, Unfinished, Vote
from codenav.core.limits import Limits
from codenav.core.system.stored import Document
from codenav.core.system.terminal_text import flattened
from codenav.core.usage import Usage
from codenav.episodes import atif, export
from codenav.episodes.products import Product, products
from codenav.episodes.verify import last_summary, script_from_steps

FORMAT = 2
"""The version of records and of the document. It changes only with a named migration (docs/record-format.md)."""
_TRIES = ("try", "question")
"""Actions of format 1 that were no steps."""


@dataclass(frozen=True, repr=False)
class EpisodeResult(Document):
    """A whole episode: the request, every step, the answer and the status."""

    id: str
    request: str
    status: Status
    answer: str = ""
    summary: Summary = Summary()
    steps: Sequence[Step] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    """Seconds of wall clock of the run; for a run without an end in its record, the sum of its steps."""
    reason: str = ""
    """One sentence: the reason why the status is not `done`."""
    hint: str = ""
    exit_code: int = 0
    """The exit code of `codenav run` for this episode."""
    agreement: str = ""
    """As in `RunEnded`."""
    verdict: str = ""
    """The judges' word on the answer: `accepted`, `refused` or `unjudged`. Empty without judges."""
    votes: Sequence[Vote] = ()
    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)
    """The parts of `usage`. Empty for a run without an end in its record."""
    unfinished: Unfinished | None = None
    """The text that the model had written when its last request was cut off."""
    sources: Sequence[Mapping[str, Any]] = ()
    """For each source: `source`, `files`, `blocks`, `versions`, `import_paths`."""
    description: str = ""
    prompt: str = ""
    """The whole system prompt."""
    model: str = ""
    sandbox: Mapping[str, Any] = field(default_factory=dict)
    """`SandboxInfo.to_dict()`."""
    work_dir: str = ""
    """The path on the host."""
    limits: Limits = Limits()
    started: str = ""
    """ISO 8601, UTC."""
    codenav: str = ""
    """The version of codenav that made the record."""
    parent: str = ""
    """Id of the episode that this one goes on from."""
    restored: Sequence[str] = ()
    """What became of each of its variables: `restored x: DataFrame 120×4`."""
    calls: Sequence[ToolCalled] = ()
    """Calls to tools that belong to no complete step of code: of replays, and of the action under way."""
    under_way: ActionTaken | None = None
    """The action that was under way when the run ended or its process died; in a running episode, the current one."""
    notices: Sequence[str] = ()
    """Events that a person should know of and the agent need not: a retry, a damaged line of the record."""
    folder: Path | None = None
    """The folder of the record; None where nothing was recorded. Not part of the document."""
    format: int = FORMAT

    stored: ClassVar[Sequence[str]] = (
        "format", "id", "request", "status", "answer", "summary", "steps", "usage", "sources", "limits",
        "model", "sandbox", "work_dir", "started", "seconds", "reason", "hint", "exit_code",
        "agreement", "verdict", "votes", "usage_by_model", "unfinished",
        "description", "prompt", "codenav", "parent", "restored", "calls", "under_way", "notices",
    )  # fmt: skip
    digits: ClassVar[Mapping[str, int]] = {"seconds": 3}

    def __repr__(self) -> str:
        steps = f"{len(self.steps)} step" + ("" if len(self.steps) == 1 else "s")
        outcome = f", {self.summary.outcome}" if self.verdict_told else ""
        return f"<EpisodeResult {self.id} {self.status.value}, {steps}{outcome}: {flattened(self.request, 60)!r}>"

    def __str__(self) -> str:
        """The answer and the verdict, as `codenav run` prints them; of a run without an answer, why there is none."""
        ended = [f"{self.status.value}: {self.reason}" if self.reason else self.status.value]
        hint = [f"Try: {self.hint}"] if self.hint and not self.answer else []
        told = filter(None, [self.agreement_told, self.judges_told, self.verdict_told])
        return "\n".join([*([self.answer] if self.answer else ended), *hint, *told])

    @property
    def agreement_told(self) -> str:
        """The line on how many scripts gave the answer; empty where nothing is known of that."""
        if not self.agreement or not self.answer:
            return ""
        return f"agreement: {self.agreement}" + (": check it" if self.agreement.startswith("1 ") else "")

    @property
    def judges_told(self) -> str:
        """The line with the votes of the judges; empty where nobody judged."""
        passed = sum(vote.word == "pass" for vote in self.votes)
        told = [self.verdict] if self.verdict != "accepted" else []
        told += [f"{passed} of {len(self.votes)} accepted it"] if self.votes else []
        return f"judges: {', '.join(told)}" if self.verdict else ""

    @property
    def verdict_told(self) -> str:
        """The line with the verdict on the code summary; empty if the run failed or has no code."""
        done = self.status is Status.DONE and self.answer and self.summary.code
        return f"summary: {self.summary.told}" if done else ""

    def to_dict(self) -> dict[str, Any]:
        """The document of `codenav run --json` and `codenav episodes show --json` (docs/record-format.md)."""
        return {
            **super().to_dict(),
            "unfinished": self.unfinished.to_data() if self.unfinished else None,
            "calls": [_without_event(event) for event in self.calls],
            "under_way": _without_event(self.under_way) if self.under_way else None,
            "outputs": [one.to_dict() for one in self.outputs],
        }

    @classmethod
    def told_by(cls, head: RunStarted, *, folder: Path | None = None) -> EpisodeResult:
        """An episode that has begun, and nothing more."""
        told = {item.name: getattr(head, item.name) for item in fields(head)}
        return cls(status=Status.RUNNING, folder=folder, **told)

    def ended_by(self, end: RunEnded) -> EpisodeResult:
        """The same episode with its end."""
        return replace(self, **{item.name: getattr(end, item.name) for item in fields(end)})

    @classmethod
    def from_events(
        cls, lines: Iterable[bytes | str], *, alive: bool = False, folder: Path | None = None
    ) -> EpisodeResult:
        """The episode as told by the lines of a record, as far as they go.

        `alive`: True if its owner lives. A record without a last line then has the status `running`, else
        `interrupted`. A torn last line is ignored; a damaged line in the middle is left out, with a notice.

        Raises:
            CodeNavError: the first line is not the head of a record, or a newer codenav wrote it.
        """
        events, notices = _read(lines)
        if not events or events[0]["event"] != "run_started":
            raise CodeNavError("the record has no readable first line", hint="codenav episodes list")
        if events[0].get("format") == 1:
            events = without_tries(events)
        elif events[0].get("format") != FORMAT:
            raise CodeNavError(
                f"the record has format {events[0].get('format')!r}; this codenav reads formats 1 and {FORMAT}",
                hint="read it with the codenav that wrote it, or a newer one",
            )
        try:
            result = cls.told_by(RunStarted.from_dict(events[0]), folder=folder)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CodeNavError(f"the first line of the record is damaged: {error!r}") from error
        steps: list[Step] = []
        called: list[ToolCalled] = []
        acted: ActionTaken | None = None
        unfinished: Unfinished | None = None
        end: EpisodeResult | None = None
        for event in events[1:]:
            try:
                match event["event"]:
                    case "acted":
                        acted = ActionTaken.from_dict(event)
                    case "called":
                        called.append(ToolCalled.from_dict(event))
                    case "observed":
                        acted = None
                        steps.append(Step.from_dict(event["step"]))
                    case "noticed":
                        notices.append(event["text"])
                    case "unfinished":
                        unfinished = Unfinished.from_dict(event)
                    case "run_ended":
                        end = result.ended_by(RunEnded.from_dict(event))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                notices.append(f"an event of the record ({event['event']}) is damaged and left out: {error!r}")
        with_calls, rest = joined(steps, called)
        result = replace(
            end or result,
            steps=tuple(with_calls),
            calls=tuple(rest),
            under_way=acted,
            unfinished=unfinished,
            notices=tuple(notices),
        )
        return result if end else _unended(result, alive)

    @property
    def outputs(self) -> list[Product]:
        """The files and pictures that the code made, and the variables that the answer rests on."""
        return products(self.steps, self.work_dir)

    @property
    def inputs(self) -> Path | None:
        """The folder with the input files that the run found in its work folder; None if it found none."""
        folder = self.folder / "inputs" if self.folder else None
        return folder if folder and folder.is_dir() else None

    def input_files(self) -> list[str]:
        """The input files that the run found in its work folder, by relative name; none where nothing was recorded."""
        folder = self.inputs
        if folder is None:
            return []
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    def to_notebook(self, path: str | Path) -> Path:
        """Write a Jupyter notebook with the steps, their real outputs and pictures; return its path.

        Its code runs in a fresh kernel, from any folder that holds the input files.

        Raises:
            NotFound: the folder does not exist.
            UsageError: something that is not a regular file has that path.
            StorageFull: it could not be written; the old content stays.
        """
        return export.write_notebook(self.to_dict(), Path(path), inputs=self.input_files())

    def to_script(self, path: str | Path) -> Path:
        """Write the code summary as a script that states its needs and runs from any folder; return its path.

        Raises:
            UsageError: no step of code succeeded.
            NotFound, StorageFull: as `to_notebook`.
        """
        code = self.summary.code or script_from_steps(self.steps)
        if not code.strip():
            raise UsageError(f"no step of code in {self.id or 'this episode'} succeeded", hint="codenav episodes show")
        return export.write_script(self.to_dict(), code, Path(path), inputs=self.input_files())

    def to_json(self, path: str | Path) -> Path:
        """Write the document as JSON; return its path.

        Raises: as `to_notebook`.
        """
        return export.write_json(self.to_dict(), Path(path))

    def to_atif(self, path: str | Path) -> Path:
        """Write the episode in ATIF, the trajectory format of Harbor; return its path.

        Raises: as `to_notebook`.
        """
        return export.write_json(atif.trajectory(self.to_dict()), Path(path))

    def to_frame(self) -> Any:
        """A `pandas.DataFrame` with one row per step.

        Columns: number, thought, action, content, outcome, shown, seconds, input_tokens, output_tokens.
        """
        return export.frame(self.steps)


def without_tries(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of format 2 in a record of format 1: no tries of an agent of rules, and no calls that they made."""
    return [
        event
        for event in events
        if event["event"] != "tried" and event.get("by") != "try" and _kind(event.get("action")) not in _TRIES
    ]


def _kind(action: Any) -> Any:
    return action.get("type") if isinstance(action, dict) else None


def joined(steps: Sequence[Step], called: Sequence[ToolCalled]) -> tuple[list[Step], list[ToolCalled]]:
    """The steps of code with the calls that they made, and the calls that belong to no step."""
    made: dict[int, list[ToolCalled]] = {
        step.number: [] for step in steps if isinstance(step.observation, CodeObservation)
    }
    rest: list[ToolCalled] = []
    for one in called:
        (made[one.number] if one.by == "step" and one.number in made else rest).append(one)
    return [_with_calls(step, made.get(step.number, ())) for step in steps], rest


def _with_calls(step: Step, called: Sequence[ToolCalled]) -> Step:
    if not called or not isinstance(step.observation, CodeObservation):
        return step
    return replace(step, observation=replace(step.observation, calls=tuple(one.call for one in called)))


def _read(lines: Iterable[bytes | str]) -> tuple[list[dict[str, Any]], list[str]]:
    events, notices, bad = [], [], 0
    for number, line in enumerate(lines, start=1):
        if bad:
            notices.append(f"line {bad} of the record is damaged and left out")
            bad = 0
        event = read_line(line)
        if event is None:
            bad = number
        else:
            events.append(event)
    return events, notices


def read_line(line: bytes | str) -> dict[str, Any] | None:
    """The event of one line; None where the line is torn or not an event."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _without_event(event: Event) -> dict[str, Any]:
    return {key: value for key, value in event.to_dict().items() if key != "event"}


def _unended(result: EpisodeResult, alive: bool) -> EpisodeResult:
    status = Status.RUNNING if alive else Status.INTERRUPTED
    under_way = f"; step {result.under_way.number} was under way" if result.under_way else ""
    return replace(
        result,
        status=status,
        summary=_summary_so_far(result.steps),
        usage=sum((step.usage for step in result.steps), result.unfinished.usage if result.unfinished else Usage()),
        seconds=sum(step.seconds for step in result.steps),
        reason="" if alive else f"the process that ran it is gone{under_way}",
        exit_code=status.exit_code,
    )


def _summary_so_far(steps: Sequence[Step]) -> Summary:
    return last_summary(steps) or Summary(reason="the episode has not ended", code=script_from_steps(steps))
