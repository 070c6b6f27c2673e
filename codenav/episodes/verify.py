"""Whether a code summary gives the same result again, in a fresh sandbox."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from codenav.actions import Step, Summary
from codenav.errors import CodeNavError
from codenav.execution import Execution, Outcome, Variable, Verdict
from codenav.protocols import StartSandbox

_ADDRESS = re.compile(r"(?<=\bat )0x[0-9A-Fa-f]+|\b0x[0-9A-Fa-f]{9,16}\b")
"""As CPython prints it (`<… at 0x7f…>`), or any hexadecimal number of the length of a user-space address."""

_NOT_DATA_TYPES = {"function", "type", "module", "method", "builtin_function_or_method", "method-wrapper"}
_NOT_DATA_REPR = re.compile(r"<(class|function|module|bound method|built-in|enum|flag) |<[^<>'\"]* object at 0x…>\Z")

_CUT, _SHORTEST_CUT = " … ", 64
"""Between head and tail of a repr that was cut; the guest cuts none to under 80 characters."""

_SHOWN = 80
"""Characters of a value in a reason: two of them and the sentence fit in three lines of a terminal."""


def script_from_steps(steps: Sequence[Step]) -> str:
    """The code of the code steps that ran to their end, in order, as one script.

    `from __future__` lines, which Python wants first, are moved to the top.
    """
    codes = [step.action.content for step in steps if step.action.type == "code" and step.observation.ok]
    futures: list[str] = []
    parts = [part for part in (_without_futures(code, futures).strip("\n") for code in codes) if part.strip()]
    script = "\n\n".join(["\n".join(dict.fromkeys(futures)), *parts] if futures else parts)
    return script + "\n" if script else ""


def _without_futures(code: str, found: list[str]) -> str:
    """The code without its `from __future__` lines, which go to `found`. Code of a newer Python stays as it is."""
    if "__future__" not in code:
        return code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(code).body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return code
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
    """The agent's last code summary with its verdict; None where it sent none."""
    for step in reversed(steps):
        if step.action.type == "code_summary":
            stored = step.observation.to_data()
            return Summary(stored["code"], stored["verified"], stored["reason"])
    return None


def verify(
    script: str,
    *,
    start: StartSandbox,
    inputs: Path | None,
    expected: Mapping[str, Variable],
    stdout: str,
    timeout: float,
) -> Verdict:
    """Run a script to its end in a fresh sandbox and compare what it leaves with what the episode left.

    Each variable that both hold must have the same type and the same bounded repr, addresses masked. Only data
    counts: not functions, classes, modules, nor objects whose repr is nothing but a type and an address. With no
    such variable in common, both must have printed the same (addresses masked, white space at line ends ignored).

    Args:
        start: starts the sandbox; its work folder begins as a copy of `inputs`.
        inputs: the work folder as it was when the episode began; None: it was empty.
        expected: the variables at the end of the episode.
        stdout: what the episode's successful steps printed.
        timeout: seconds that the script may take.

    A sandbox that does not start is a verdict too, never an exception: the reason says so.
    """
    if not script.strip():
        return Verdict(False, "there is no code")
    try:
        sandbox = start(inputs)
        try:
            execution = sandbox.run(script, timeout=timeout)
            left = sandbox.variables() if execution.ok else {}
        finally:
            sandbox.close()
    except CodeNavError as error:
        return Verdict(False, f"it could not be replayed: {error}")
    if not execution.ok:
        return Verdict(False, _failure(execution, timeout))
    reason = _difference(expected, left, stdout, execution.stdout)
    return Verdict(not reason, reason)


def _failure(execution: Execution, timeout: float) -> str:
    error = execution.error
    if execution.outcome is Outcome.ERROR and error is not None:
        where = f" (line {error.line_number}: {_cut(error.line)})" if error.line_number is not None else ""
        message = f": {_cut(error.message)}" if error.message else ""
        return f"the script raised {error.type}{message}{where}"
    return {
        Outcome.TIMEOUT: f"the script did not end within {timeout:g} seconds",
        Outcome.OUT_OF_MEMORY: "the script used more memory than it may",
        Outcome.CRASHED: "the script ended its process",
    }.get(execution.outcome, "the script broke the sandbox's protocol")


def _difference(
    expected: Mapping[str, Variable], left: Mapping[str, Variable], stdout: str, replayed_stdout: str
) -> str:
    common = [(left[name], recorded) for name, recorded in expected.items() if name in left]
    for replayed, recorded in common:
        if replayed.type != recorded.type and (_is_data(replayed) or _is_data(recorded)):
            return f"{replayed.name} has type {replayed.type} in the replay and {recorded.type} in the episode"
    telling = [pair for pair in common if all(map(_is_data, pair))]
    for replayed, recorded in telling:
        reason = _value_difference(replayed, recorded)
        if reason:
            return reason
    if telling:
        return ""
    here, there = _comparable(replayed_stdout), _comparable(stdout)
    if here != there:
        return _stdout_difference(here, there)
    # Where the episode left no data either, it only wrote files, and there is nothing more to compare.
    if not here and any(map(_is_data, expected.values())):
        return "the script sets none of the episode's variables and prints nothing"
    return ""


def _value_difference(replayed: Variable, recorded: Variable) -> str:
    here, there = _masked(replayed.repr), _masked(recorded.repr)
    if here == there or _same_where_shown(here, there) or _same_in_another_order(here, there):
        return ""
    here, there = _cut_pair(here, there)
    return f"{replayed.name} is {here} in the replay and {there} in the episode"


def _stdout_difference(here: str, there: str) -> str:
    here_lines, there_lines = here.split("\n"), there.split("\n")
    number = next(
        (at for at, pair in enumerate(zip(here_lines, there_lines, strict=False)) if pair[0] != pair[1]),
        min(len(here_lines), len(there_lines)),
    )
    shown = [repr(lines[number]) if number < len(lines) else "missing" for lines in (here_lines, there_lines)]
    here, there = _cut_pair(*shown)
    return f"line {number + 1} of the output is {here} in the replay and {there} in the episode"


def _is_data(variable: Variable) -> bool:
    """Whether a repr says more than what kind of thing it is; `<int>` stands where there was no time for a repr."""
    if variable.type in _NOT_DATA_TYPES or _NOT_DATA_REPR.match(_masked(variable.repr)):
        return False
    return variable.repr != f"<{variable.type}>" and not variable.repr.startswith(f"<{variable.type}: its repr ")


def _masked(text: str) -> str:
    return _ADDRESS.sub("0x…", text)


def _comparable(stdout: str) -> str:
    return "\n".join(line.rstrip() for line in _masked(stdout).rstrip().splitlines())


def _same_where_shown(here: str, there: str) -> bool:
    """Whether one is the other with its middle left out: reprs are cut shorter where there are many variables."""
    short, long = sorted((here, there), key=len)
    head, mark, tail = short.partition(_CUT)
    return bool(mark) and len(short) >= _SHORTEST_CUT and long.startswith(head) and long.endswith(tail)


def _same_in_another_order(here: str, there: str) -> bool:
    """Whether two reprs are of equal data and differ only in the order in which sets list their members.

    That order depends on the hash seed of the process.
    """
    if "{" not in here or sorted(here) != sorted(there):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(ast.literal_eval(here) == ast.literal_eval(there))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _cut_pair(here: str, there: str) -> tuple[str, str]:
    """Both values short enough to read, cut so that the first difference can be seen."""
    same = next((at for at, pair in enumerate(zip(here, there, strict=False)) if pair[0] != pair[1]), 0)
    skip = max(0, same - _SHOWN // 2) if max(len(here), len(there)) > _SHOWN else 0
    lead = "…" if skip else ""
    return lead + _cut(here[skip:]), lead + _cut(there[skip:])
