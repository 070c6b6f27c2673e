"""`codenav chat`: several requests in one state."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli import steps
from codenav.cli.options import SectionedCommand, on_option, say
from codenav.cli.run import open_run, run_options, show_run
from codenav.core.errors import CodeNavError, UsageError

if TYPE_CHECKING:
    from codenav.cli.live import LiveLine
    from codenav.episodes.record import EpisodeResult
    from codenav.session.session import Session

HELP = """A line is a request; the variables of one are there in the next.
/show        the steps of the last request
/undo        take the last request back: the variables are as before it
/save FILE   write the code of this chat as a script
/quit        end, as Ctrl-D does; Ctrl-C stops what runs and keeps the variables"""
HISTORY = 1000
"""Most lines that the up arrow brings back."""


@click.command("chat", cls=SectionedCommand)
@on_option(required=False)
@click.option("--after", metavar="EPISODE", default="", help="Go on from a recorded run, as codenav resume does.")
@run_options
def command(after: str, **options: Any) -> None:
    """Ask one request after another. The variables of one are there in the next.

    The arrow up brings earlier lines back. /help tells what else can be written: /show, /undo, /save FILE, /quit.

    \b
    Examples:
      codenav chat --on ./my-repo --work-dir data
      codenav chat --after last
    """
    if not options["sources"] and not after:
        raise click.UsageError("name a source with --on, or a run to go on from with --after.")
    if options["stream"] or options["as_json"]:
        raise click.UsageError("a chat is for a person: codenav run takes --json.")
    from codenav.cli.live import LiveLine

    wanted = not options["quiet"]
    with (
        LiveLine(wanted=wanted, verbose=options["verbose"]) as live,
        open_run(options, live, after, undoable=True) as session,
    ):
        chat = _Chat(session, options, live)
        for line in _lines():
            try:
                if not chat.answer(line):
                    break
            except KeyboardInterrupt:
                say("Interrupted. The variables stay.", err=True)
            except CodeNavError as error:
                say(f"Error: {error}", err=True)
                if error.hint:
                    say(f"Try: {error.hint}", err=True)
        if options["save_summary"] and chat.results:
            chat.save(options["save_summary"])


def _lines() -> Iterator[str]:
    """The lines that a person writes, until the end of the input. Ctrl-C gives a new line."""
    terminal = sys.stdin.isatty()
    with _history() if terminal else nullcontext():
        while True:
            try:
                line = input("> " if terminal else "").strip()
            except KeyboardInterrupt:
                click.echo(err=True)
                continue
            except EOFError:
                if terminal:
                    click.echo(err=True)
                return
            if line:
                yield line


@contextmanager
def _history() -> Iterator[None]:
    """The lines of earlier chats for the arrow keys, kept in a file that only this user reads."""
    import readline

    from codenav.core.config import home

    file = home("data") / "chat_history"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(HISTORY)
    try:
        yield
    finally:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            readline.write_history_file(file)


class _Chat:
    """The requests of one chat, and what came of them."""

    def __init__(self, session: Session, options: dict[str, Any], live: LiveLine) -> None:
        self._session, self._options, self._live = session, options, live
        self.results: list[EpisodeResult] = []

    def answer(self, line: str) -> bool:
        """Carry a line out. False if it ends the chat.

        Raises:
            CodeNavError: it cannot be carried out.
        """
        word, _, rest = line.partition(" ")
        match word:
            case "/quit":
                return False
            case "/help":
                say(HELP)
            case "/show":
                say(steps.transcript(self._last(), room=steps.Room.of_terminal()))
            case "/undo":
                kept = self._session.undo()
                self.results.pop()
                say("\n".join(["Taken back.", *kept]), err=True)
            case "/save":
                if not rest.strip():
                    raise UsageError("/save needs the name of a file", hint="/save count.py")
                self.save(Path(rest.strip()))
            case _ if word.startswith("/") and "/" not in word[1:]:
                raise UsageError(f"there is no {word}", hint="/help tells what can be written")
            case _:
                self._ask(line)
        return True

    def save(self, file: Path) -> None:
        """Write the code of the chat as a script."""
        say(f"Written: {self._last().to_script(file)}", err=True)

    def _ask(self, request: str) -> None:
        running = self._session.episode(request)
        try:
            show_run(running, self._options, self._live, head=not self.results)
        finally:
            self.results.append(running.result)

    def _last(self) -> EpisodeResult:
        if not self.results:
            raise UsageError("nothing was asked yet", hint="write a request")
        return self.results[-1]
