"""What a person sees while something runs: on stderr, rich on a terminal, plain lines in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from codenav.actions import Action, CodeObservation, SearchObservation, Step, SummaryObservation
from codenav.cli.options import say, store_of
from codenav.events import Acted, Event, Observed, RunStarted
from codenav.text import neutral

if TYPE_CHECKING:
    from codenav.indexers.build import Progress

WIDTH = 300
"""Characters of a line that are shown."""
LINES = 12
"""Lines of an action or of an output that are shown; `codenav episodes show` has them all."""


class ReportProgress(Protocol):
    """Takes the progress of a build."""

    def __call__(self, progress: Progress, /) -> None: ...


def notice(text: str) -> None:
    """One line that a person should know."""
    say(f"Note: {text}", err=True)


@contextmanager
def indexing(source: str) -> Iterator[ReportProgress]:
    """A bar while files are indexed; in a pipe nothing."""
    if not sys.stderr.isatty():
        yield lambda progress, /: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("Indexing {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(source, total=None)

        def report(progress: Progress, /) -> None:
            bar.update(task, completed=progress.done, total=progress.total)

        yield report


@contextmanager
def opening(sources: Sequence[str], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Keywords for what opens the indexes of sources, from the options of `reading_options`; shows its progress."""
    with indexing(", ".join(sources)) as progress:
        yield {
            "python": options["python"],
            "refresh": not options["no_refresh"],
            "progress": progress,
            "notice": notice,
            **store_of(options),
        }


class RunDisplay:
    """Shows the events of a run as they happen."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._to_replay = False

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case RunStarted():
                sources = ", ".join(str(source["source"]) for source in event.sources)
                self._line(f"{event.id}  {event.model} on {sources}, sandbox: {event.sandbox.get('backend')}", "dim")
            case Acted():
                self._action(event.number, event.action)
            case Observed():
                self._observation(event.step)

    def _action(self, number: int, action: Action) -> None:
        self._line(f"{number}. {action.type}" + (f"  {_one_line(action.thought)}" if action.thought else ""), "bold")
        if action.type in ("search", "code", "code_summary"):
            self._block(action.content, "cyan")

    def _observation(self, step: Step) -> None:
        observation = step.observation
        if isinstance(observation, SearchObservation):
            for result in observation.results:
                self._line(f"   → {result.total} matches" + _names(result.hits), "green" if result.hits else "yellow")
        elif isinstance(observation, CodeObservation):
            execution = observation.execution
            self._line(f"   → {execution.outcome.value}, {execution.seconds:.2f} s", "green" if execution.ok else "red")
            self._to_replay |= execution.ok
            self._block(execution.stdout + execution.stderr + execution.late_output, "")
            if execution.error:
                self._block(f"{execution.error.type}: {execution.error.message}", "red")
            if execution.notice:
                self._line(f"   {execution.notice}", "yellow")
        elif isinstance(observation, SummaryObservation):
            verdict = observation.verdict
            self._to_replay = False
            text = f"{verdict.verdict}: {verdict.reason}" if verdict.reason else verdict.verdict
            self._line(f"   → {text}", "green" if verdict.verified else "yellow")
        elif not observation.ends:
            self._block(observation.text, "" if observation.ok else "yellow")
        elif observation.ok and self._to_replay:
            self._line("   → replaying the steps in a fresh sandbox", "dim")

    def _block(self, text: str, style: str) -> None:
        lines = text.strip("\n").splitlines()
        for line in lines[:LINES]:
            self._line(f"   {line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}", style)
        if len(lines) > LINES:
            self._line(f"   … {len(lines) - LINES} more lines", "dim")

    def _line(self, text: str, style: str) -> None:
        # The text is data: brackets in it are no markup, escapes in it steer nothing.
        with contextlib.suppress(OSError):
            self._console.print(neutral(text), style=style or None, markup=False)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:159] + "…"


def _names(hits: object) -> str:
    names = [hit.block.qualname or hit.block.name for hit in list(hits)[:3]]  # type: ignore[call-overload]
    return f": {', '.join(names)}" if names else ""
