"""The verification of a code summary: the same result again, in a fresh sandbox."""

from __future__ import annotations

import ast
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from codenav.actions import Step, Summary
from codenav.cancelling import current_scope
from codenav.episodes.code import OURS, parsed, printed
from codenav.episodes.compared import Comparison, Left, cut
from codenav.episodes.files import Mounted, written
from codenav.errors import Cancelled, CodeNavError
from codenav.execution import Execution, Outcome, Replayed, Verdict
from codenav.protocols import Sandbox, StartSandbox

WITNESS_SECONDS = 10.0
"""Seconds for a step that only fails."""


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
    mounted: Sequence[Mounted] = (),
) -> Verdict:
    """Run a script to its end in a fresh sandbox and compare its results with those of the episode.

    Variables of both are compared by a digest of the whole value, files by content, and the last output; at least one
    of them must be computed by the script and agree. See `compared`, `outputs`, `files`, `written_down`.

    Args:
        start: starts the sandbox; its work folder begins as a copy of `inputs`.
        inputs: the work folder as it was when the episode began; None: it was empty.
        left: the results of the episode.
        timeout: seconds that the script may take.
        mounted: folders that the script may write to, as they were when the episode began.

    A sandbox that does not start gives a verdict too, never an exception: the reason says so.

    Raises:
        Cancelled: the episode was cancelled meanwhile.
    """
    if not script.strip():
        return Verdict(False, "there is no code")
    try:
        scope = current_scope()
        scope.check()
        sandbox = start(inputs)
        try:
            # Nothing of it is wanted any more, and one that is closed runs nothing.
            with scope.waking(lambda: sandbox.close(force=True)):
                execution = sandbox.run(script, timeout=timeout)
            scope.check()
            if not execution.ok:
                return Verdict(False, _failure(execution, timeout))
            if not _tells_of_failure(sandbox):
                return Verdict(False, "after the script, a step that fails is no longer reported as an error")
            held = sandbox.digests(list(left.held.digests))
            files = written(sandbox, inputs, mounted)
            replayed = Replayed(printed(script, execution.stdout), held, tuple(sandbox.artifacts()))
        finally:
            sandbox.close()
    except Cancelled:
        raise
    except CodeNavError as error:
        return Verdict(False, f"it could not be replayed: {error}")
    return replace(Comparison(script, left, replayed, files).verdict(), replayed=replayed)


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
