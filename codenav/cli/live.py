"""The status line of a run: what it waits for, for how long, and how much the model has written."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from codenav.core.events import ActionTaken, Event, RunEnded, RunStarted, StepEnded
from codenav.core.messages import ModelReply
from codenav.core.system.terminal_text import neutral

TICK = 0.25
"""Seconds between two updates of the line."""

WORTH_SAYING = 0.5
"""Seconds of waiting before the line is shown. For anything quicker it would only flicker."""

WORKING = {"code": "running the code", "code_summary": "replaying the summary", "done": "reading the answer"}
"""Descriptions of actions that may take long."""

ERASE = "\r\x1b[K"
"""Escape sequence that moves to the start of the line and erases it (ECMA-48, EL)."""


class LiveLine:
    """A line on stderr that is updated in place, and erased before anything else is printed.

    Nothing is shown if stderr is not a terminal, or with `wanted=False`. `verbose` prints the text and the reasoning of
    the model as they arrive, instead of the line.
    """

    def __init__(self, *, wanted: bool = True, verbose: bool = False) -> None:
        self._shows = wanted and sys.stderr.isatty()
        self._verbose = wanted and verbose
        self._model = ""
        self._what = ""
        """The thing that the run waits for. Empty for nothing."""
        self._since = 0.0
        self._bytes = 0
        self._drawn = ""
        """The line as it is on the terminal."""
        self._open = False
        """True while a line of the model's text is not ended."""
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Start the wait for what follows an event that was just shown."""
        match event:
            case RunStarted():
                self._model = event.model
                self._wait(f"waiting for {event.model}")
            case ActionTaken():
                self._wait(WORKING.get(event.action.type, ""))
            case StepEnded() if event.step.observation.ends:
                self._wait("replaying the steps")
            case StepEnded():
                self._wait(f"waiting for {self._model}")
            case RunEnded():
                self.rest()

    def rest(self) -> None:
        """Stop waiting for anything."""
        self._wait("")

    def heard(self, heard: ModelReply) -> None:
        """Take what comes from the model. A listener for `Session(heard=…)`."""
        with self._lock:
            self._bytes = 0 if heard.begins else self._bytes + len((heard.text + heard.reasoning).encode())
            if self._verbose:
                self._write(heard.reasoning + heard.text, begins=heard.begins)

    @property
    def shows_the_text(self) -> bool:
        """True if the model's last text is already on the terminal, as printed by `verbose`."""
        return self._verbose and self._bytes > 0

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Erase the line while something else is printed."""
        with self._lock:
            self._erase()
            yield

    def __enter__(self) -> Self:
        if self._shows:
            self._ticker = threading.Thread(target=self._tick, name="codenav-live", daemon=True)
            self._ticker.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        with self._lock:
            self._what = ""
            self._erase()

    def _wait(self, what: str) -> None:
        with self._lock:
            self._erase()
            self._what, self._since, self._bytes = what, time.monotonic(), 0

    def _tick(self) -> None:
        while not self._stop.wait(TICK):
            with self._lock:
                seconds = time.monotonic() - self._since
                if self._what and seconds >= WORTH_SAYING and not self._open and not self._stop.is_set():
                    self._draw(seconds)

    def _draw(self, seconds: float) -> None:
        # Estimated as a quarter of the bytes, as everywhere before a server has counted.
        done = f", {-(-self._bytes // 4):,} tokens" if self._bytes else ""
        numbers = f"  {seconds:.0f} s{done}"
        what = neutral(f"… {self._what}").replace("\n", " ")
        room = max(8, shutil.get_terminal_size().columns - 1 - len(numbers))
        line = (what if len(what) <= room else what[: room - 1] + "…") + numbers
        if line != self._drawn:
            self._print(ERASE + line)
        self._drawn = line

    def _erase(self) -> None:
        if self._open:
            self._print("\n")
        elif self._drawn:
            self._print(ERASE)
        self._drawn, self._open = "", False

    def _write(self, text: str, *, begins: bool) -> None:
        """Print the model's text as it arrives. It is data, so escapes in it have no effect."""
        if begins or (text and not self._open):
            self._erase()
        if text:
            self._print(neutral(text))
            self._open = not text.endswith("\n")

    def _print(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()
