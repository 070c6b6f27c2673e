"""The text of results for the model, formatted here only. Every text is bounded in tokens."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from codenav.core.blocks import BlockKind, CodeBlock, Instance, SearchResult
from codenav.core.execution import CheckReport, Execution, Outcome, ToolCall, Verdict
from codenav.core.system.terminal_text import shortened
from codenav.core.usage import estimate_tokens

FULL_TOKENS = 1200
"""Tokens of a block shown in full, at most; the median docstring of scientific packages with examples has half."""
SOURCE_TOKENS = 300
"""Tokens up to which the whole source is shown even where signature and docstring are shorter."""
SHOWS = ("shorter", "code", "docstrings", "prototypes")
"""Contents of a block shown in full. The first is the usual one."""
OUTPUT_TOKENS = 2000
"""Tokens kept of a step's output, head and tail. The sandbox has already cut it, to a length for people."""
LISTED = 20
"""Changed variables, files and pictures that are named; the others are counted."""
METHODS = 8
"""Methods that are shown of the class of an instance; the others are counted."""
VALUE = 200
"""Characters kept of a variable's value, of a query and of its interpretation."""
ANSWERS_CHARACTERS, ANSWER_LEAST = 8192, 200
"""Characters of the answers of several calls of a step together, and of each of them at least."""
EXECUTED_TOKENS = 6000
"""Tokens of the observation of a code step, at most."""


def cut_middle(text: str, tokens: int) -> str:
    """The text, or its head and tail around a line that counts what is left out."""
    whole = estimate_tokens(text)
    if whole <= tokens:
        return text
    # In proportion, because a character has up to four bytes.
    keep = max(len(text) * tokens // whole // 2, 1)
    return f"{text[:keep]}\n… {len(text) - 2 * keep} characters left out …\n{text[-keep:]}"


def block_in_full(block: CodeBlock, *, tagged: bool = False, shows: str = SHOWS[0]) -> str:
    """Heading, import line and source of a block; signature and docstring instead where they are shorter, or a tool's.

    `tagged` adds the source of the block. `shows` is one of `SHOWS`.
    """
    where = f"{block.path}:{block.lines.start}-{block.lines.end}{_tag(block, tagged)}"
    heading = f"{block.kind.value} {block.qualname or block.name}  ({where})"
    body, language = block.text, block.language
    docstring = textwrap.indent(block.docstring, "    ").lstrip()
    described = f'{block.signature}\n    """{docstring}"""' if docstring else ""
    shorter = estimate_tokens(body) > SOURCE_TOKENS and len(described) < len(body)
    # The body of a tool is a call to the host, which tells nothing.
    if shows == "prototypes":
        body = block.signature or body
    elif shows == "docstrings" or (block.kind is BlockKind.TOOL and shows != "code"):
        body = described or block.signature or body
    elif described and shorter and shows != "code":
        body = described
    body = cut_middle(body.rstrip(), FULL_TOKENS)
    lines = [heading]
    if block.import_line:
        lines.append(block.import_line)
    fence = "`" * max(3, _longest_run(body, "`") + 1)
    lines += [f"{fence}{language}", body, fence]
    return "\n".join(lines)


def class_in_short(instance: Instance) -> str:
    """The class of an instance at module level and its first methods, one line each; empty for another block."""
    owner, methods = instance
    if owner is None:
        return ""
    lines = [f"An instance of {_cut(owner.signature or owner.qualname)}  ({owner.path}:{owner.lines.start})"]
    lines += [f"- {_cut(method.signature)}" for method in methods[:METHODS]]
    if len(methods) > METHODS:
        lines.append(f"- and {len(methods) - METHODS} more")
    return "\n".join(lines)


def _tag(block: CodeBlock, tagged: bool) -> str:
    return f", {block.source}" if tagged else ""


def block_in_short(block: CodeBlock, *, tagged: bool = False) -> str:
    """One line on a block: kind, signature, import line and place. `tagged` as in `block_in_full`."""
    signature = _cut(block.signature or block.name)
    where = f"{block.path}:{block.lines.start}{_tag(block, tagged)}"
    owner = block.qualname.rpartition(".")[0]
    inside = f" in {owner}" if owner and block.kind is not BlockKind.DOCUMENT else ""
    imported = f"  {block.import_line}" if block.import_line else ""
    return f"- {block.kind.value} {signature}{inside}{imported}  ({where})"


def searched(
    result: SearchResult,
    *,
    full: Sequence[CodeBlock],
    short: Sequence[CodeBlock],
    seen: int,
    tagged: bool = False,
    shows: str = SHOWS[0],
    instance_of: Callable[[CodeBlock], Instance] | None = None,
) -> str:
    """The result of one query. `seen` counts the matches shown in full before; the rest is as in `block_in_full`.

    `instance_of` tells the class of what is shown in full.
    """
    parts = [f"Query: {_cut(result.query)}"]
    if result.repairs:
        parts.append(f"Read as: {_cut(result.read_as)} ({_cut('; '.join(result.repairs))})")
    parts += [f"Note: {_cut(sentence)}" for sentence in result.advice]
    if not result.total:
        general = " Try other words, fewer conditions, or a prefix such as resiz*."
        parts.insert(1, f"No match.{'' if result.advice else general}")
        return "\n".join(parts)
    if not full:
        parts.append(f"All {result.total} matches have been shown in full before.")
        return "\n".join(parts)
    counts = f"{result.total} matches" if result.total != 1 else "1 match"
    before = f", {seen} shown before" if seen else ""
    rest = result.total - seen - len(full) - len(short)
    shown = f"{len(full)} in full" + (f", {len(short)} as signatures" if short else "")
    more = f", {rest} not shown; the same query again shows the next ones" if rest > 0 else ""
    parts.append(f"{counts}{before}: {shown}{more}.")
    for block in full:
        told = class_in_short(instance_of(block)) if instance_of else ""
        parts.append("\n".join(filter(None, (block_in_full(block, tagged=tagged, shows=shows), told))))
    if short:
        parts.append("\n".join(["Also:", *(block_in_short(block, tagged=tagged) for block in short)]))
    return "\n\n".join(parts)


def executed(execution: Execution, checks: Sequence[CheckReport], calls: Sequence[ToolCall] = ()) -> str:
    """The result of a code step, with the calls that it made and the remarks of the checkers."""
    parts = [f"Outcome: {execution.outcome.value} ({execution.seconds:.2f} s)"]
    if execution.notice:
        parts.append(f"Note: {execution.notice}")
    if calls:
        parts.append("\n".join(["Calls to tools:", *_called(calls)]))
    for name, text in (("stdout", execution.stdout), ("stderr", execution.stderr), ("late", execution.late_output)):
        if text.strip():
            label = "Output of earlier threads" if name == "late" else name
            parts.append(f"{label}:\n{cut_middle(text.rstrip(), OUTPUT_TOKENS)}")
    if execution.error:
        parts.append(_error(execution))
    if execution.changed:
        rows = [f"{_cut(item.name)}: {_cut(item.type)} = {_cut(item.repr)}" for item in execution.changed]
        parts.append("\n- ".join(["Changed variables:", *_bounded(rows)]))
    if execution.displays:
        parts.append(f"Displayed to the user: {', '.join(_bounded([item.mime for item in execution.displays]))}")
    if execution.files:
        parts.append(f"Files written: {', '.join(_bounded([_cut(name) for name in execution.files]))}")
    parts += [text for text in map(_check, checks) if text]
    if execution.outcome is Outcome.OK and len(parts) == 1:
        parts.append("Nothing was printed and no variable changed.")
    return cut_middle("\n".join(parts), EXECUTED_TOKENS)


def summarised(verdict: Verdict) -> str:
    """The verdict on a code summary, with what was compared."""
    if verdict.verified:
        return (
            f"The summary ran in a fresh sandbox: {verdict.told}. Now give your answer with done; "
            "say only what the script prints or holds."
        )
    return (
        f"The summary is not accepted. Its run in a fresh sandbox: {verdict.told}. "
        "Send a corrected code_summary, or give your answer with done if it cannot be made to replay."
    )


def _called(calls: Sequence[ToolCall]) -> list[str]:
    """The calls of a step with their answers; of many the first and the last ones."""
    at_front = LISTED // 2 if len(calls) > LISTED else len(calls)
    listed = [*calls[:at_front], *(calls[at_front - LISTED :] if len(calls) > LISTED else ())]
    # A single answer was bounded where it was made; several share the room.
    room = max(ANSWERS_CHARACTERS // len(listed), ANSWER_LEAST) if len(listed) > 1 else None
    rows = [call_in_short(call, room) for call in listed]
    if len(listed) < len(calls):
        left_out = calls[at_front : at_front + len(calls) - len(listed)]
        bad = sum(call.outcome not in ("ok", "replayed") for call in left_out)
        rows.insert(at_front, f"… {len(left_out)} calls left out, {bad} of them without a good answer …")
    return rows


def call_in_short(call: ToolCall, characters: int | None = None) -> str:
    """A call with its status, its time and the answer as it is shown, cut to a number of characters."""
    status = call.outcome if call.status is None else str(call.status)
    again = f", {call.tries} tries" if call.tries > 1 else ""
    shown = call.shown if characters is None else shortened(call.shown, characters)
    told = f"- {call.tool}: {status}, {call.seconds:.2f} s{again}"
    return f"{told}: {shown}" if shown else told


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= VALUE else line[: VALUE - 1] + "…"


def _bounded(rows: Sequence[str]) -> list[str]:
    more = len(rows) - LISTED
    return [*rows[:LISTED], f"and {more} more"] if more > 0 else list(rows)


def _error(execution: Execution) -> str:
    error = execution.error
    if error is None:
        return ""
    where = f"\n  line {error.line_number}: {error.line}" if error.line_number else ""
    message = cut_middle(error.message, 500)
    trace = cut_middle(error.traceback.strip(), 800)
    # A traceback through library code shows where the library failed; one of a single frame adds nothing.
    inner = f"\n{trace}" if trace.count("  File ") > 1 else ""
    return f"Error: {error.type}: {message}{where}{inner}"


def _check(report: CheckReport) -> str:
    if report.failure:
        return f"{report.tool} could not check this step: {report.failure}"
    if report.findings:
        rows = [f"line {item.line_number}: {_cut(item.message)} [{item.code}]" for item in report.findings]
        return "\n- ".join([f"{report.tool} remarks:", *_bounded(rows)])
    if report.formatted is not None:
        return f"{report.tool} would write it as:\n{cut_middle(report.formatted.rstrip(), 500)}"
    return ""


def _longest_run(text: str, character: str) -> int:
    longest = run = 0
    for one in text:
        run = run + 1 if one == character else 0
        longest = max(longest, run)
    return longest
