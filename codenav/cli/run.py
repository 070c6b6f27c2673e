"""`codenav run`: carry out a request with real code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.options import (
    SectionedCommand,
    agent_options,
    joined,
    json_option,
    on_option,
    place_options,
    print_json,
    say,
    setting_option,
    setting_options,
)
from codenav.core.errors import CodeNavError, UsageError
from codenav.core.events import RunStarted
from codenav.core.system.terminal_text import flattened

if TYPE_CHECKING:
    from codenav.cli.display import RunDisplay
    from codenav.cli.live import LiveLine
    from codenav.episodes.record import EpisodeResult
    from codenav.session.episode import Episode
    from codenav.session.session import Session

FAILED_LINES = 10
"""Most lines that a run which failed prints, its head, steps and ending together."""
HEAD_LINES = 2
"""Lines that are shown when a run begins."""
FORMS = ("text", "table", "json", "file")
REASON_LINES = 3
"""Most of the lines that the reason takes: a server may send a page of them."""


run_options = joined(
    click.option(
        "--description", metavar="TEXT|FILE", help="Purpose of the code base. [default: made from its metadata]"
    ),
    click.option("--answer", metavar="TEXT", multiple=True, help="Answer to the next question. Repeatable."),
    setting_option("model"),
    setting_option("work_dir"),
    click.option(
        "--save-summary", metavar="FILE", type=click.Path(path_type=Path), help="Write the code summary to this file."
    ),
    click.option(
        "--answer-as",
        type=click.Choice(FORMS),
        default="text",
        show_default=True,
        help="Print the value behind the answer: as a table, as JSON, or as files written into the work folder.",
    ),
    agent_options,
    setting_options("Judges", "judges", "min_pass"),
    click.option("--stream", is_flag=True, help="With --json: print each event as it happens, one per line."),
    click.option("--quiet", "-q", is_flag=True, help="Print only the answer and the verdict."),
    click.option(
        "--verbose", is_flag=True, help="Print what the model writes as it arrives, and everything else in full."
    ),
    place_options,
    json_option,
)
"""The options of commands that run one request, but for its sources."""


@click.command(
    "run",
    cls=SectionedCommand,
    epilog="A request that begins with a dash goes behind two: codenav run --on . -- '-5 plus 3?'",
)
@click.argument("request")
@on_option()
@run_options
def command(request: str, **options: Any) -> int:
    """Do what REQUEST asks, with the code of the named sources. A REQUEST of - is read from stdin.

    The answer is printed on stdout, with the verdict on the code summary: did it replay with the same result? Progress
    is on stderr. The record is kept: codenav episodes show last.

    \b
    Examples:
      codenav run "Which node of the karate club graph has the highest betweenness?" \\
          --on pkg:networkx --model gpt-5 --base-url http://localhost:8000/v1
      codenav run "Count the loans per city" --on ./my-repo --work-dir data --save-summary count.py
      codenav run - --on ./my-repo < request.txt

    \b
    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a limit was reached, 4 something is missing,
    130 interrupted.
    """
    return carry_out(request, options)


def carry_out(request: str, options: dict[str, Any], *, after: str = "") -> int:
    """Run a request from the options of the command, after the episode `after` if one is named; print how it ends.

    Returns the exit code.
    """
    if options["stream"] and not options["as_json"]:
        raise click.UsageError("--stream goes with --json.")
    if options["as_json"] and options["answer_as"] != "text":
        raise click.UsageError("--answer-as prints an answer, --json the whole record: use one of them.")
    from codenav.cli.live import LiveLine

    if request == "-":
        request = _read_request()
    saved = options["save_summary"]
    if saved and not saved.absolute().parent.is_dir():
        raise click.UsageError(f"--save-summary: there is no folder {saved.absolute().parent}.")
    wanted = not (options["quiet"] or options["as_json"])
    with LiveLine(wanted=wanted, verbose=options["verbose"]) as live, open_run(options, live, after) as session:
        running = session.episode(request or (session.past.newest.request if session.past else ""))
        result = show_run(running, options, live)
        if saved and result.summary.code:
            result.to_script(saved)
        return result.exit_code


def show_run(running: Episode, options: dict[str, Any], live: LiveLine, *, head: bool = True) -> EpisodeResult:
    """Run an episode, with its progress on stderr and its end on stdout; `head` tells request, model and sources."""
    from codenav.cli import display

    wanted = not (options["quiet"] or options["as_json"])
    shown = display.RunDisplay(verbose=options["verbose"], text_shown=lambda: live.shows_the_text) if wanted else None
    try:
        # Closing the stream closes the record, even if showing an event was interrupted.
        with closing(running.stream()) as events:
            for event in events:
                with live.pause():
                    if shown and (head or not isinstance(event, RunStarted)):
                        shown(event)
                live(event)
                if options["stream"]:
                    click.echo(json.dumps(event.to_dict(), ensure_ascii=False))
    finally:
        live.rest()
        _print(running, options, shown)
    return running.result


def _read_request() -> str:
    request = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if not request:
        raise UsageError("there is no request on stdin", hint="echo 'What is …?' | codenav run - --on SOURCE")
    return request


def open_run(options: dict[str, Any], live: LiveLine, after: str = "", *, undoable: bool = False) -> Session:
    """Open a session from the options of the command. A terminal is asked; without one nobody is there."""
    from codenav.cli import asking, display
    from codenav.core.config import SETTINGS
    from codenav.session.api import open_session

    person = asking.Confirm(live.pause) if sys.stdin.isatty() and sys.stderr.isatty() else None
    plain = {name: value for name, value in options.items() if name in SETTINGS or name in ("description", "answer")}
    with display.indexing(", ".join(options["sources"])) as progress:
        return open_session(
            on=options["sources"],
            after=after,
            undoable=undoable,
            ask=person.ask if person else None,
            confirm=person,
            progress=progress,
            notice=(lambda text: None) if options["quiet"] else _between(live, display.notice),
            heard=live.heard,
            **plain,
        )


def _between(live: LiveLine, say: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap a function so that the live line is erased while it runs."""

    def call(text: str) -> None:
        with live.pause():
            say(text)

    return call


def _print(running: Episode, options: dict[str, Any], shown: RunDisplay | None) -> None:
    """Print how a run ended, whatever the ending."""
    from codenav.cli import pictures, steps

    result = running.result
    if options["as_json"]:
        if not options["stream"]:
            print_json(_stored_episode(result).to_dict())
        return
    quiet, verbose, terminal = options["quiet"], options["verbose"], steps.Room.of_terminal()
    # With --verbose it is on the screen already.
    cut_off = [] if quiet or verbose else [line.text for line in steps.cut_off_lines(result.unfinished, terminal)]
    width, most = terminal.width or 80, FAILED_LINES - HEAD_LINES - len(cut_off) - 2 - bool(result.hint)
    rows = max(1, min(most, REASON_LINES))
    reason = result.reason if verbose else flattened(result.reason, rows * width - len("Error: "))
    if shown:
        shown.end(most - -(-len(f"Error: {reason}") // width) if result.exit_code else None)
    for line in cut_off:
        say(line, err=True)
    if result.verdict_told and result.summary.unsupported:
        say(f"Note: nothing that the replay left holds {', '.join(result.summary.unsupported)}", err=True)
    if not quiet:
        for cost in (steps.cost_text(result), *steps.model_costs(result)):
            say(cost, err=True)
        say(f"Record: codenav episodes show {result.id}", err=True)
        pictures.tell_pictures(result)
    # The result comes last, where the eye is.
    form = options["answer_as"] if result.status == "done" else "text"
    if not (form != "text" and _print_value(running, form)) and result.answer:
        say(result.answer)
    for verdict in filter(None, (result.agreement_told, result.judges_told, result.verdict_told)):
        say(verdict, err=form == "json")
    if result.reason and result.status != "interrupted":
        say(f"{'Error' if result.exit_code else 'Note'}: {reason}", err=True)
        if result.hint:
            say(f"Try: {result.hint}", err=True)


def _print_value(running: Episode, form: str) -> bool:
    """Print the value behind an answer in another form than text, and the text on stderr; False if it has none."""
    from codenav.cli import answers

    value, result = running.value(), running.result
    if value is None:
        say("Note: there is no value behind the answer that can be shown: it is printed as text", err=True)
        return False
    try:
        written = answers.write_files(value, Path(result.work_dir)) if form == "file" else []
    except OSError as error:
        say(f"Note: the answer is printed as text, since no file can be written: {error}", err=True)
        return False
    say(result.answer, err=True)
    if form == "json":
        print_json(value)
    else:
        say("\n".join(map(str, written)) or answers.table_text(value))
    return True


def _stored_episode(result: EpisodeResult) -> EpisodeResult:
    """Return the episode from its record, with secrets masked, or as it is if the record cannot be read."""
    from codenav.session.api import load_episode

    try:
        return load_episode(result.id)
    except CodeNavError:
        return result
