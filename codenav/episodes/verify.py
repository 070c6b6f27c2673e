"""The verification of a code summary: the same result again, in a fresh sandbox."""

from __future__ import annotations

import ast
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from codenav.core.actions import Step, Summary
from codenav.core.cancelling import current_scope
from codenav.core.errors import Cancelled, CodeNavError
from codenav.core.execution import NOT_COMPARED, Execution, Outcome, Replayed, Verdict
from codenav.core.protocols import Sandbox, StartSandbox
from codenav.core.system.bounded import Deadline, OutOfTime
from codenav.core.system.syntax import parsed
from codenav.episodes.code import OURS, printed
from codenav.episodes.compared import Comparison, Left, cut
from codenav.episodes.files import Mounted, written
from codenav.episodes.repeats import Repeats, Results

WITNESS_SECONDS = 10.0
"""Seconds for a step that only fails."""
COMPARING_SECONDS = 30.0
"""Seconds of a verification for all but the run of the script: comparisons, and running it again."""
MOST_REPEATS = 3
"""Further replays. A value of two kinds (heads or tails) is the same in all four in one case of eight."""
CLOCK_SECONDS = 1.1
"""Least seconds between the starts of two runs of the script, and between the session and its steps run again."""
ELSEWHERE = (
    f"import os  # {OURS}\nos._exit(0)",
    f"{OURS}_room = [bytes(size) for size in range(480) for _ in range(size * {{}} % 7)]",
)
"""Steps after which the numbers of processes are others, and objects lie elsewhere: their order in sets is another one.
"""


def script_from_steps(steps: Sequence[Step]) -> str:
    """The code of the code steps that succeeded, in order, as one script.

    `from __future__` lines, which Python wants first, are moved to the top.
    """
    codes = _named_values([step for step in steps if step.action.type == "code" and step.observation.ok])
    futures: list[str] = []
    parts = [part for part in (_without_futures(code, futures).strip("\n") for code in codes) if part.strip()]
    script = "\n\n".join(["\n".join(dict.fromkeys(futures)), *parts] if futures else parts)
    return script + "\n" if script else ""


def _named_values(steps: Sequence[Step]) -> list[str]:
    """The code of steps; if one uses `_`, those before it bind the value of their last expression to that name."""
    codes = [step.action.content for step in steps]
    trees = [parsed(code) for code in codes]
    names = [{(one.id, type(one.ctx)) for one in ast.walk(tree) if isinstance(one, ast.Name)} for tree in trees if tree]
    if not any(("_", ast.Load) in one for one in names) or any(("_", ast.Store) in one for one in names):
        return codes
    return [_with_value_named(*pair) for pair in zip(codes, trees, steps, strict=True)]


def _with_value_named(code: str, tree: ast.Module | None, step: Step) -> str:
    last = tree.body[-1] if tree and tree.body else None
    if not isinstance(last, ast.Expr) or not (step.observation.to_data().get("value")):
        return code
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    line = lines[last.lineno - 1].encode()
    lines[last.lineno - 1] = (line[: last.col_offset] + b"_ = " + line[last.col_offset :]).decode()
    return "\n".join(lines)


def _without_futures(code: str, found: list[str]) -> str:
    """The code without its `from __future__` lines, which are added to `found`. Newer Python stays as it is."""
    if "__future__" not in code:
        return code
    tree = parsed(code)
    if tree is None:
        return code
    body = tree.body
    # As Python counts lines: `str.splitlines` also splits at form feeds.
    lines: list[str | None] = [*code.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    for node, following in zip(body, [*body[1:], None], strict=True):
        alone = following is None or following.lineno > (node.end_lineno or node.lineno)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__" and alone:
            found.append(ast.unparse(node))
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = None
    return "\n".join(line for line in lines if line is not None)


def last_summary(steps: Sequence[Step]) -> Summary | None:
    """The agent's last code summary with its verdict; None where there is none."""
    for step in reversed(steps):
        if step.action.type == "code_summary":
            stored = step.observation.to_data()
            return Summary.from_dict(stored)
    return None


def verify(
    script: str,
    *,
    start: StartSandbox,
    inputs: Path | None,
    left: Left,
    timeout: float,
    deadline: Deadline | None = None,
    mounted: Sequence[Mounted] = (),
) -> Verdict:
    """Run a script to its end in a fresh sandbox and compare its results with those of the episode.

    Variables of both are compared by a digest of the whole value, files by content, and the last output; at least one
    of them must be computed by the script and agree. See `compared`, `outputs`, `files`, `written_down`. If something
    differs, the steps of the episode and the script run again: what is another one each time is left out (`repeats`).

    Args:
        start: starts the sandbox; its work folder begins as a copy of `inputs`, and `mounted` as they were.
        inputs: the work folder as it was when the episode began; None: it was empty.
        left: the results of the episode.
        timeout: seconds that the script may take.
        deadline: the end of everything. Default: `COMPARING_SECONDS` after the timeout.
        mounted: folders that the script may write to, as they were when the episode began.

    A sandbox that does not start gives a verdict too, never an exception: the reason says so.

    Raises:
        Cancelled: the episode was cancelled meanwhile.
    """
    if not script.strip():
        return Verdict(False, "there is no code")
    replays = _Replays(start, inputs, mounted, timeout, deadline or Deadline(timeout + COMPARING_SECONDS))
    try:
        first = replays.of_script(script, left)
    except _Failed as error:
        return error.verdict
    verdict = _compared(script, left, first, None, replays.deadline)
    if verdict.verified:
        return verdict
    again, others = None, list[Results]()
    try:
        again = replays.of_steps(left)
        if again and not Repeats(again, ()).show_variation(left.held, left.files, left.outputs):
            again = None
        while again and len(others) < MOST_REPEATS and not verdict.verified:
            others.append(replays.of_script(script, left))
            verdict = _compared(script, left, first, Repeats(again, others), replays.deadline)
    except _Failed as error:
        # The first replay came to its end: what it showed stands.
        untried = error.verdict.outcome == NOT_COMPARED and not others
        return replace(verdict, reason=f"{verdict.reason} (no time was left to run it again)") if untried else verdict
    return verdict


def _compared(script: str, left: Left, first: Results, repeats: Repeats | None, deadline: Deadline) -> Verdict:
    try:
        verdict = deadline.within(lambda: Comparison(script, left, first, repeats).verdict())
    except OutOfTime:
        verdict = _out_of_time(deadline)
    except RecursionError:
        verdict = Verdict(False, "its code is nested too deeply", outcome=NOT_COMPARED)
    return replace(verdict, replayed=first.replayed)


def _out_of_time(deadline: Deadline) -> Verdict:
    return Verdict(False, f"it took longer than the {deadline.seconds:g} seconds that it may", outcome=NOT_COMPARED)


class _Failed(Exception):
    """A run that leaves nothing to compare, with the verdict that this is."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class _Replays:
    """Runs in fresh sandboxes, one after the other, until a deadline."""

    def __init__(
        self, start: StartSandbox, inputs: Path | None, mounted: Sequence[Mounted], timeout: float, deadline: Deadline
    ) -> None:
        self.deadline = deadline
        self._start, self._inputs, self._mounted, self._timeout = start, inputs, mounted, timeout
        self._began: float | None = None
        """When the last run of the script began."""
        self._runs = 0

    def of_script(self, script: str, left: Left) -> Results:
        """The results of the script. Raises _Failed, Cancelled."""
        self._wait_for_the_clock()
        self._began = time.monotonic()
        with self._sandbox() as sandbox:
            execution = sandbox.run(script, timeout=min(self._timeout, max(self.deadline.left, 0.1)))
            current_scope().check()
            if not execution.ok:
                raise _Failed(Verdict(False, _failure(execution, self._timeout)))
            if not _tells_of_failure(sandbox):
                why = "after the script, a step that fails is no longer reported as an error"
                raise _Failed(Verdict(False, why, outcome=NOT_COMPARED))
            return self._results(sandbox, printed(script, execution.stdout), left)

    def _wait_for_the_clock(self) -> None:
        """Wait until a clock that shows seconds shows another one than in the session, and in the script's last run."""
        if self._began is not None:
            pause = max(0.0, self._began + CLOCK_SECONDS - time.monotonic())
            current_scope().sleep(min(pause, self.deadline.left))

    def of_steps(self, left: Left) -> Results | None:
        """The results of the episode's own steps, run again one by one; None if a step ends in another way."""
        outputs = []
        self._wait_for_the_clock()
        with self._sandbox() as sandbox:
            for ran in left.ran:
                if ran.execution.outcome not in (Outcome.OK, Outcome.ERROR):
                    continue  # its state was dropped
                done = sandbox.run(ran.code, timeout=max(self.deadline.left, 0.1))
                current_scope().check()
                if done.outcome is not ran.execution.outcome:
                    return None
                if ran in left.done:
                    outputs.append(printed(ran.code, done.stdout))
            return self._results(sandbox, "", left, outputs)

    def _results(self, sandbox: Sandbox, output: str, left: Left, outputs: Sequence[str] = ()) -> Results:
        held = sandbox.digests(list(left.held.digests))
        files = written(sandbox, self._inputs, self._mounted, deadline=self.deadline)
        return Results(Replayed(output, held, tuple(sandbox.artifacts())), files, outputs)

    @contextmanager
    def _sandbox(self) -> Iterator[Sandbox]:
        """Yield a fresh sandbox, closed by force when the episode is cancelled or the time is over."""
        scope = current_scope()
        scope.check()
        try:
            self.deadline.check()
            sandbox = self._start(self._inputs)
            # Nothing of it is wanted any more, and one that is closed runs nothing.
            # After a moment in which a step that took too long can say so itself.
            timer = threading.Timer(self.deadline.left + 2, lambda: sandbox.close(force=True))
            timer.daemon = True
            try:
                timer.start()
                for step in ELSEWHERE if self._runs else ():
                    sandbox.run(step.format(secrets.randbelow(1000)), timeout=WITNESS_SECONDS)
                self._runs += 1
                with scope.waking(lambda: sandbox.close(force=True)):
                    yield sandbox
            finally:
                timer.cancel()
                sandbox.close()
        except OutOfTime:
            raise _Failed(_out_of_time(self.deadline)) from None
        except Cancelled:
            raise
        except CodeNavError as error:
            scope.check()
            late = not self.deadline.left
            told = _out_of_time(self.deadline) if late else Verdict(False, f"it could not be replayed: {error}")
            raise _Failed(told) from error


def _tells_of_failure(sandbox: Sandbox) -> bool:
    """True if the process in which the script ran still reports a step of codenav's own that fails as an error.

    The witness stands beside the token that tells the sandbox of the end of a step (docs/sandbox.md, "True results").
    """
    word = f"{OURS} {secrets.token_hex(8)}"
    done = sandbox.run(f"assert False, {word!r}", timeout=WITNESS_SECONDS)
    return done.outcome is Outcome.ERROR and done.error is not None and done.error.message == word


def _failure(execution: Execution, timeout: float) -> str:
    error = execution.error
    if execution.outcome is Outcome.ERROR and error is not None:
        where = f" (line {error.line_number}: {cut(error.line)})" if error.line_number is not None else ""
        message = f": {cut(error.message)}" if error.message else ""
        return f"the script raised {error.type}{message}{where}"
    return {
        Outcome.TIMEOUT: f"the script did not end within {timeout:g} seconds",
        Outcome.OUT_OF_MEMORY: "the script used more memory than allowed",
        Outcome.CRASHED: "the script ended its process",
    }.get(execution.outcome, "the script broke the sandbox's protocol")
