"""The host's side of one checker: a warm child process, its thread, and the recovery when the child fails."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codenav.environments.checkers.answers import Answer, Past, Trust
from codenav.environments.checkers.folder import PrivateFolder

START_SECONDS = 60.0
"""Seconds for a start, with all steps read again. A cold start of mypy takes 1 to 2 s; 2 s more with numpy."""
RENEW_AFTER = 500
"""Checks after which a fresh child replaces the old one. mypy's daemon was seen to grow by 7 MiB in 100 checks."""

_ATTEMPTS = 4
"""Attempts for one check: with a further module, or after a fault of the tool."""

_ROOT = Path(__file__).resolve().parents[3]
_BOOT = "import sys; sys.path.append(sys.argv[1]); from codenav.environments.checkers.serve import main; main()"
_PASSED_ON = ("HOME", "LD_LIBRARY_PATH", "PATH", "TMPDIR")


class _Failed(Exception):
    """The child gave no answer; the message says why."""


class _Broken(_Failed):
    """The tool itself raised an exception."""


class _Late(_Failed):
    """The child did not answer in time, and may still be working."""


@dataclass
class _Job:
    """A step to check (`answer` is awaited) or to remember."""

    step: Past
    deadline: float
    answer: Future[Answer] | None = None


@dataclass
class Worker:
    """A tool in a process of its own, started at once and again after each failure.

    One thread, which lives as long as the worker, does all its work: the child is set to die with the thread that
    started it. `settings` go to the tool; `folder`, if given, is created anew for each start.
    """

    tool: str
    settings: Mapping[str, Any]
    folder: PrivateFolder | None = None
    _jobs: queue.SimpleQueue[_Job | None] = field(default_factory=queue.SimpleQueue)
    _past: list[Past] = field(default_factory=list)
    _suspects: set[bytes] = field(default_factory=set)
    """Digests of steps on which the tool failed."""
    _load: list[str] = field(default_factory=list)
    """Modules that the tool reads at its start, because steps import them."""
    _newest: list[str] = field(default_factory=list)
    """The modules that the start under way adds."""
    _skip: list[str] = field(default_factory=list)
    """Modules that the tool could not read."""
    _doubted: Past | None = None
    """The step that the tool was reading when it failed."""
    _process: subprocess.Popen[bytes] | None = None
    _unread: bytes = b""
    _checks: int = 0
    _closing: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._serve, name=f"codenav-{self.tool}", daemon=True)
        self._thread.start()

    def check(self, code: str, *, deadline: float) -> Future[Answer]:
        """Ask for the verdict on a step, until `deadline` by `time.monotonic`. A failure is an answer, too."""
        job = _Job(Past(code), deadline, Future())
        self._jobs.put(job)
        assert job.answer is not None
        return job.answer

    def remember(self, step: Past) -> None:
        """Add a step that ran. Returns at once."""
        self._jobs.put(_Job(step, 0.0))

    def close(self) -> None:
        """End the child and the thread; safe to call twice."""
        with self._lock:
            self._closing = True
            if self._process is not None:
                self._process.kill()
        self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        try:
            with contextlib.suppress(_Failed):
                self._start()
            while (job := self._jobs.get()) is not None and not self._closing:
                self._check(job, job.answer) if job.answer else self._remember(job.step)
        finally:
            self._end()
            if self.folder is not None:
                self.folder.remove()

    def _check(self, job: _Job, answer: Future[Answer]) -> None:
        if not answer.set_running_or_notify_cancel():
            # The caller has stopped waiting.
            return
        try:
            answer.set_result(self._verdict(job))
        except _Failed as error:
            self._suspects.add(_digest(job.step.code))
            answer.set_result(Answer(failure=str(error)))
            self._restart()
        self._checks += 1
        if self._checks >= RENEW_AFTER:
            self._restart()

    def _verdict(self, job: _Job) -> Answer:
        if self._process is not None and self._process.poll() is not None:
            # It died between two steps: not a fault of this one.
            self._end()
        if self._process is None:
            self._start()
        broke = False
        for _ in range(_ATTEMPTS):
            if time.monotonic() > job.deadline:
                return Answer(failure=f"{self.tool} gave no verdict in time: it was starting")
            try:
                reply = self._exchange({"code": job.step.code}, job.deadline)
            except _Broken:
                # mypy's daemon has faults that a fresh one does not show.
                if broke:
                    raise
                broke = True
                self._again()
                continue
            if "load" not in reply:
                return Answer.from_dict(reply, at=time.monotonic())
            self._again(reply["load"])
        raise _Failed(f"{self.tool} asks for a fresh start again and again")

    def _remember(self, step: Past) -> None:
        if _digest(step.code) in self._suspects:
            step = replace(step, trust=Trust.NAMES)
        self._past.append(step)
        if self._process is None:
            return
        try:
            reply = self._exchange({"steps": [step.to_dict()]}, time.monotonic() + START_SECONDS)
            if "load" in reply:
                self._again(reply["load"])
        except _Failed as error:
            self._doubted = step
            if isinstance(error, _Late):
                self._distrust()
            self._restart()

    def _restart(self) -> None:
        """Start a fresh child. If that fails, the next check tries again and gives the reason."""
        with contextlib.suppress(_Failed):
            self._again()

    def _again(self, modules: Sequence[str] = ()) -> None:
        self._end()
        self._newest = [module for module in modules if module not in self._load]
        self._start()

    def _start(self) -> None:
        """Start a child, if necessary by asking less of it."""
        while True:
            try:
                self._launch()
                self._load, self._newest, self._doubted = [*self._load, *self._newest], [], None
                return
            except _Failed:
                self._end()
                if self._closing or not self._ask_less():
                    raise

    def _ask_less(self) -> bool:
        if self._newest:
            # The tool cannot read these modules, or not within START_SECONDS.
            self._skip, self._newest = [*self._skip, *self._newest], []
            return True
        if self._distrust():
            return True
        if any(step.trust is Trust.NAMES for step in self._past):
            # It cannot even read the names of one of the steps.
            self._past = [replace(s, trust=Trust.NOTHING) if s.trust is Trust.NAMES else s for s in self._past]
            return True
        return False

    def _distrust(self) -> bool:
        """Use only the names of the step that the tool was reading when it failed; False if there is none."""
        doubted, self._doubted = self._doubted, None
        if doubted is None:
            return False
        self._suspects.add(_digest(doubted.code))
        self._past = [replace(step, trust=Trust.NAMES) if step is doubted else step for step in self._past]
        return True

    def _launch(self) -> None:
        if self._closing:
            raise _Failed("the checks are closed")
        deadline = time.monotonic() + START_SECONDS
        settings = {**self.settings, "tool": self.tool, "host": os.getpid(), "skip": self._skip}
        settings["load"] = [*self._load, *self._newest]
        try:
            if self.folder is not None:
                settings["folder"] = str(self.folder.renew())
            process = self._spawn(settings.get("folder", "/"))
        except OSError as error:
            raise _Failed(f"{self.tool} does not start: {error}") from error
        self._checks, self._unread = 0, b""
        with self._lock:
            self._process = process
            if self._closing:
                process.kill()
        self._exchange({"steps": [step.to_dict() for step in self._past]}, deadline, opening=settings)

    @staticmethod
    def _spawn(folder: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-E", "-P", "-c", _BOOT, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=folder,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            # Ctrl-C in the terminal is for the host.
            start_new_session=True,
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process

    def _exchange(
        self, request: Mapping[str, Any], deadline: float, *, opening: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Send a request, after the settings in the first one; return the reply, or give up at the deadline.

        Raises:
            _Failed: the child ended, did not answer in time, or broke; it is of no further use.
        """
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        source, sink = process.stdout.fileno(), process.stdin.fileno()
        lines = [json.dumps(part) + "\n" for part in (opening, request) if part is not None]
        pending = memoryview("".join(lines).encode())
        while b"\n" not in self._unread:
            wait = deadline - time.monotonic()
            ready, writable, _ = select.select([source], [sink] if pending else [], [], max(0.0, wait))
            if wait <= 0 and not ready:
                raise _Late(f"{self.tool} gave no verdict in time")
            if writable:
                pending = pending[self._write(sink, pending) :]
            if ready:
                chunk = os.read(source, 1 << 16)
                if not chunk:
                    raise _Failed(f"{self.tool} {_ending(process)}")
                self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        if "broken" in reply:
            raise _Broken(str(reply["broken"]))
        return reply

    @staticmethod
    def _write(sink: int, data: memoryview) -> int:
        try:
            return os.write(sink, data)
        except (BlockingIOError, BrokenPipeError):
            # The other pipe shows that the child is gone.
            return 0

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _digest(code: str) -> bytes:
    return hashlib.blake2b(code.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _ending(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"
