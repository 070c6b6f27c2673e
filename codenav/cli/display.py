"""Progress for a person while something runs: on stderr, with rich on a terminal, as plain lines in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from codenav.cli import steps
from codenav.cli.options import counted, one_line, say
from codenav.core.actions import Step, SummaryObservation
from codenav.core.events import ActionTaken, Event, RunEnded, RunStarted, StepEnded, ToolCalled
from codenav.core.system.terminal_text import flattened

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from codenav.indexers.build import Progress


NAMED = 5
"""Most lines and names that are printed one by one. `--json` has all names."""


class ReportProgress:
    """A progress bar; in a pipe nothing is shown."""

    def __init__(self, source: str, bar: Bar | None = None) -> None:
        self._bar = bar
        self._task = bar.add_task(f"Indexing {source}", total=None) if bar else None

    def __call__(self, progress: Progress, /) -> None:
        """Show the progress of a build."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=progress.done, total=progress.total)

    def share(self, what: str, done: float) -> None:
        """Show how much of anything else is done, 0 to 1."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=what, completed=round(100 * done), total=100)


_bars: list[Bar] = []
"""The progress bars that are on the terminal now."""


def notice(text: str) -> None:
    """Print one line that a person should know."""
    with paused():
        say(f"Note: {text}", err=True)


@contextmanager
def paused() -> Iterator[None]:
    """Take the progress bars off the terminal, so that what is written meanwhile stays."""
    bars = list(_bars)
    for bar in bars:
        bar.stop()
    try:
        yield
    finally:
        for bar in bars:
            bar.start()


@contextmanager
def indexing(source: str) -> Iterator[ReportProgress]:
    """Show a progress bar while files are indexed. In a pipe nothing is shown."""
    if not sys.stderr.isatty():
        yield ReportProgress(source)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        _bars.append(bar)
        try:
            yield ReportProgress(source, bar)
        finally:
            _bars.remove(bar)


@contextmanager
def opening(sources: Sequence[str], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Show progress, and yield the keywords for opening indexes, from the options of `reading_options`."""
    with indexing(", ".join(sources)) as progress:
        yield {
            "python": options["python"],
            "refresh": not options["no_refresh"],
            "progress": progress,
            "notice": notice,
            "store": options["store"],
        }


class RunDisplay:
    """A display of a run's events: a block for each step, and a line for each search.

    The first line of a step is shown while it runs, the others once it went well. Of steps that fail in a row the first
    is shown: the record has the rest. In a pipe the lines of steps are kept until `end`.
    """

    def __init__(self, *, verbose: bool = False, text_shown: Callable[[], bool] = lambda: False) -> None:
        """`verbose` leaves nothing out. `text_shown` returns True if the model's text was already shown as it came."""
        from rich.console import Console

        self._room = steps.Room() if verbose else steps.Room.of_terminal()
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._text_shown = text_shown
        self._to_replay = False
        self._later: list[steps.Line] | None = None if verbose or self._console.is_terminal else []
        """Lines that are kept until the end; None shows them at once."""
        self._held: list[steps.Line] = []
        """Lines of the step under way that are shown once it went well."""
        self._failures = 0
        """Failed steps since code last went well."""

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case RunStarted():
                sources = ", ".join(str(source["source"]) for source in event.sources)
                self._print(
                    [
                        self._room.line(flattened(event.request, 1000), "bold"),
                        self._room.line(f"{event.model} on {sources}, {_where(event.sandbox)}", "dim"),
                    ]
                )
            case ActionTaken():
                if not self._text_shown():
                    self._hold(list(steps.opening_lines(event.number, event.action, self._room)))
            case ToolCalled():
                self._show(steps.call_lines([event.call], self._room, by="" if event.by == "step" else event.by))
            case StepEnded():
                self._show_result(event.step)
                self._replaying(event.step)
            case RunEnded():
                self._show_failures()

    def end(self, most: int | None = None) -> None:
        """Show what was kept in a pipe: all of it, or with `most` that many of its last lines."""
        lines, self._later = self._later or [], None
        if most is not None and len(lines) > most:
            before = steps.Line(f"   … {len(lines) - max(most - 1, 0)} lines of steps", "dim")
            lines = [before, *lines[len(lines) - most + 1 :]][: max(most, 0)]
        self._show(lines)

    def _hold(self, lines: list[steps.Line]) -> None:
        at_once = len(lines) if self._room.is_all else not self._failures
        shown, self._held = lines[:at_once], lines[at_once:]
        self._show(shown)

    def _show_result(self, step: Step) -> None:
        attempt = step.action.type in ("code", "code_summary", "invalid")
        if self._room.is_all or step.observation.ok or not attempt:
            if attempt:
                self._show_failures()
            self._show([*self._held, *steps.result_lines(step, self._room)])
        else:
            self._failures += 1
            if self._failures == 1:
                self._show(steps.failure_lines(step, self._room))
        self._held = []

    def _show_failures(self) -> None:
        """Report how many failed steps were not shown."""
        if self._failures > 1:
            more = counted(self._failures - 1, "more failed step")
            self._show([steps.Line(f"… {more}: codenav episodes show last", "dim")])
        self._failures = 0

    def _replaying(self, step: Step) -> None:
        """Announce the replay of all steps at the end, if no summary was replayed since the last code."""
        if step.action.type == "code":
            self._to_replay |= step.observation.ok
        elif isinstance(step.observation, SummaryObservation):
            self._to_replay = False
        elif step.observation.ends and step.observation.ok and self._to_replay:
            self._show([steps.Line("   → replaying the steps in a fresh sandbox", "dim")])

    def _show(self, lines: Iterable[steps.Line]) -> None:
        if self._later is None:
            self._print(lines)
        else:
            self._later += lines

    def _print(self, lines: Iterable[steps.Line]) -> None:
        for line in lines:
            # The text is data: brackets in it are not markup.
            with contextlib.suppress(OSError):
                self._console.print(line.text, style=line.style or None, markup=False)


def _where(sandbox: Mapping[str, Any]) -> str:
    backend = sandbox.get("backend", "")
    return "without isolation" if backend == "process" else f"in {backend}"


@contextmanager
def printing_few() -> Iterator[Callable[[str], None]]:
    """Yield a function that prints the first few of its sentences; the number of the others is printed in the end."""
    count = 0

    def tell(text: str) -> None:
        nonlocal count
        count += 1
        if count <= NAMED:
            with paused():
                say(one_line(text), err=True)

    try:
        yield tell
    finally:
        if count > NAMED:
            say(f"… and {count - NAMED:,} more", err=True)


def print_unknown(names: Collection[str], where: str) -> None:
    """Tell which names in traces stand for nothing there."""
    if names:
        named = ", ".join(one_line(name) for name in [*names][:NAMED])
        more = f", … {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        say(f"not in {where}, so their calls are left out: {named}{more}", err=True)
