"""Steps as lines of text, for `codenav run` as they happen and for `codenav episodes show` afterwards."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from codenav.cli.options import counted
from codenav.core.system.terminal_text import flattened, neutral, shortened

if TYPE_CHECKING:
    from codenav.core.actions import Action, Step
    from codenav.core.events import Unfinished
    from codenav.core.execution import ToolCall
    from codenav.core.usage import Usage
    from codenav.episodes.record import EpisodeResult

LINES = 12
"""Most lines of a piece of code or an output: most steps have fewer, and a screen still holds three of them."""
INVALID_LINES = 6
"""Most lines of an answer without a valid action: enough to see what the model wrote instead."""
UNFINISHED_LINES = 2
"""Most lines of what the model was writing when it was cut off."""
ERROR_LINES = 4
"""Most lines of an error, whose message often says what to do about it."""
NAMES = 5
"""Most blocks named from the results of a search."""
QUIET = ("search", "done", "invalid")
"""Actions shown only by their result, or not at all."""


class Line(NamedTuple):
    """One line of text and its style on a terminal."""

    text: str
    style: str = ""


class Room(NamedTuple):
    """The size of what is shown. None means no bound."""

    width: int | None = None
    """Columns of a line."""
    lines: int | None = None
    """Lines of one piece of code or one output."""

    @classmethod
    def of_terminal(cls) -> Room:
        """Return the room of the terminal. Its width comes from the terminal, or COLUMNS, or is 80."""
        return cls(shutil.get_terminal_size((80, 24)).columns, LINES)

    @property
    def is_all(self) -> bool:
        """True if nothing is left out."""
        return self.lines is None

    def line(self, text: str, style: str = "") -> Line:
        """Return a line cut to the width."""
        text = neutral(text).expandtabs(4)
        return Line(text if self.width is None else cut_to(text, self.width), style)

    def block(self, text: str, style: str = "", *, lines: int | None = None) -> Iterator[Line]:
        """Yield an indented text, and how many lines of it are left out."""
        rows = text.strip("\n").splitlines()
        most = len(rows) if self.is_all else lines or self.lines or 0
        # The line that reports a single missing line takes as much room as that line.
        most += most + 1 == len(rows)
        for row in rows[:most]:
            yield self.line(f"   {row}".rstrip(), style)
        if len(rows) > most:
            yield self.line(f"   … {len(rows) - most} more lines", "dim")


def cut_to(text: str, columns: int) -> str:
    """Return the beginning of a line that fits into `columns`. Some characters take two columns."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1).rstrip()}…"


def opening_lines(number: int, action: Action, room: Room) -> Iterator[Line]:
    """Yield the lines for an action that is about to run. A search is shown later, with its results."""
    if action.type == "ask":
        # If a person is there, the question is asked in full elsewhere.
        yield room.line(f"{number}. ask  {flattened(action.content, 1000)}", "bold")
    elif action.type not in QUIET or (room.is_all and action.type == "search"):
        yield from action_lines(number, action, room)


def action_lines(number: int, action: Action, room: Room) -> Iterator[Line]:
    """Yield the lines of any action, without its result."""
    yield room.line(_heading(number, action), "bold")
    yield from room.block(action.content, "cyan")


def result_lines(step: Step, room: Room) -> Iterator[Line]:
    """Yield the lines for the result of an action. The answer is shown elsewhere."""
    kind, data = step.action.type, step.observation.to_data()
    if _sent_back(data):
        if kind == "done":
            yield room.line(f"{step.number}. done  {flattened(step.action.content, 1000)}", "bold")
        # What follows the first line of a reviewer is for the model.
        text = step.observation.text if room.is_all else step.observation.text.partition("\n")[0]
        yield room.line(f"   → {text}", "yellow")
    elif isinstance(data, Mapping) and "rule" in data:
        yield room.line(f"{step.number}. no valid action ({data['rule']}); the model wrote:", "yellow")
        yield from room.block(step.action.content or "(nothing)", lines=INVALID_LINES)
    elif room.is_all and not step.observation.ends:
        yield Line("   ──", "dim")
        yield from room.block(step.observation.text)
    elif kind == "ask" and data["answered"]:
        yield room.line(f"   → {flattened(step.observation.text.removeprefix('Answer: '), 1000)}")
    elif kind == "ask":
        yield room.line("   → nobody is there to answer", "yellow")
    elif kind == "search":
        yield _search(step, data, room)
    elif kind == "code":
        if data.get("drafts") and step.action.content != data["drafts"][0]["code"]:
            yield room.line("   kept instead:", "dim")
            yield from room.block(step.action.content, "cyan")
        yield from run_lines(data, room)
    elif kind not in ("code_summary", *QUIET):
        yield from room.block(step.observation.text)


def failure_lines(step: Step, room: Room) -> Iterator[Line]:
    """Yield a line for a step that failed, and one for what happened to its state."""
    data = step.observation.to_data()
    text = _result(data) if "error" in data else f"→ {step.observation.text}"
    broken = "rule" in data and not _sent_back(data)
    if broken:
        text = f"{step.number}. no valid action ({data['rule']}); the model wrote: {step.action.content}"
    yield room.line(f"{'' if broken else '   '}{flattened(text, 1000)}", "red")
    if data.get("notice"):
        yield room.line(f"   {data['notice']}", "yellow")


def _sent_back(data: Any) -> bool:
    return isinstance(data, Mapping) and data.get("rule") in ("not_approved", "not_accepted")


def call_lines(calls: Sequence[ToolCall], room: Room, *, by: str = "") -> Iterator[Line]:
    """Yield a line for each call to a tool. An unbounded room shows arguments and answers, too."""
    for call in calls:
        good = call.outcome in ("ok", "replayed", "dry-run")
        status = call.outcome if call.status is None else str(call.status)
        text = f"   {by or 'call'} {call.tool} → {status}, {call.seconds:.2f} s"
        if room.is_all:
            yield room.line(text, "dim" if good else "yellow")
            yield from room.block(json.dumps(dict(call.arguments), ensure_ascii=False, default=str), "dim")
            yield from room.block(call.shown, "dim")
        else:
            yield room.line(text if good else f"{text}: {flattened(call.shown, 1000)}", "dim" if good else "yellow")


def cut_off_lines(cut_off: Unfinished | None, room: Room) -> Iterator[Line]:
    """Yield what the model had written when its last request was cut off. A bounded room shows the last lines."""
    if cut_off is None:
        return
    yield room.line("The model was cut off while it wrote:", "yellow")
    written = f"{cut_off.reasoning.strip()}\n{cut_off.response.strip()}".strip()
    rows = [row for row in written.splitlines() if row.strip()]
    if room.is_all:
        yield from room.block(written)
        return
    if len(rows) > UNFINISHED_LINES:
        yield room.line(f"   … {len(rows) - UNFINISHED_LINES} lines before", "dim")
    *kept, last = rows[-UNFINISHED_LINES:] or [""]
    yield from room.block("\n".join(kept))
    # The end of the last line, where it was cut off.
    most = (room.width or len(last)) - 4
    yield room.line(f"   {last if len(last) <= most else '…' + last[-most:]}".rstrip())


def cost_text(result: EpisodeResult) -> str:
    """Return `3 steps, 4,210 tokens in 3 requests, $0.0093, 12.4 s`, without what is not known."""
    return ", ".join([counted(len(result.steps), "step"), *_cost(result.usage), f"{result.seconds:,.1f} s"])


def model_costs(result: EpisodeResult) -> list[str]:
    """Return `gpt-5: 4,210 tokens in 3 requests, $0.0093` for each model, if there are several."""
    costs = [f"{name}: {', '.join(_cost(usage))}" for name, usage in result.usage_by_model.items() if usage.requests]
    return costs if len(costs) > 1 else []


def _cost(usage: Usage) -> list[str]:
    about = "about " if usage.estimated else ""
    asked = [f"{about}{usage.tokens:,} tokens in {counted(usage.requests, 'request')}"] if usage.requests else []
    return asked + ([f"{about}${usage.dollars:,.4f}"] if usage.dollars else [])


def _heading(number: int, action: Action) -> str:
    name = {"code_summary": "code summary"}.get(action.type, action.type)
    return f"{number}. {name}" + (f"  {' '.join(action.thought.split())}" if action.thought else "")


def _search(step: Step, results: Sequence[Mapping[str, Any]], room: Room) -> Line:
    queries = [line.strip() for line in step.action.content.splitlines() if line.strip()]
    asked = " ".join(queries[0].split()) if queries else ""
    more = f" (+{len(queries) - 1})" if len(queries) > 1 else ""
    names = list(dict.fromkeys(hit["qualname"] or hit["name"] for result in results for hit in result["hits"]))
    found = ", ".join([*names[:NAMES], *(["…"] if len(names) > NAMES else [])]) or "nothing"
    head = f"{step.number}. search  "
    if room.width is not None:
        left = room.width - len(head) - len(more) - len(" → ")
        found = _whole_names(found, max(left - len(asked), left * 3 // 5))
        asked = shortened(asked, max(left - len(found), 1))
    return room.line(f"{head}{asked}{more} → {found}")


def _whole_names(found: str, characters: int) -> str:
    """Cut a list of names after the last one that fits. Of the first name at least the beginning stays."""
    if len(found) <= characters:
        return found
    kept = found[: characters - 1].rpartition(",")[0]
    return f"{kept}, …" if kept else shortened(found, characters)


def run_lines(data: Mapping[str, Any], room: Room) -> Iterator[Line]:
    """Yield the output, outcome and notice of code that ran, from the JSON form of its result."""
    yield from room.block(data["stdout"] + data["stderr"] + data["late_output"])
    text = _result(data)
    if data["outcome"] == "ok":
        yield room.line(f"   {text}", "green")
    else:
        yield from room.block(
            "\n".join(textwrap.wrap(neutral(text), (room.width or 1000) - 3)), "red", lines=ERROR_LINES
        )
    if data["notice"]:
        yield room.line(f"   {data['notice']}", "yellow")


def _result(data: Mapping[str, Any]) -> str:
    """Return `→ error, 0.01 s: ValueError: no such city`, or what an `ok` step without output bound."""
    error, output = data["error"], data["stdout"] + data["stderr"] + data["late_output"]
    said = f"{error['type']}: {error['message']}" if error else ""
    if not said and not output.strip():
        said = ", ".join(f"{item['name']} = {item['repr']}" for item in data["changed"][-3:])
    agreed = f", {data['agreement']} agree" if data.get("agreement") else ""
    return f"→ {data['outcome']}, {data['seconds']:.2f} s{agreed}" + (f": {flattened(said, 1000)}" if said else "")


def transcript(result: EpisodeResult, *, room: Room) -> str:
    """Return an episode with each step as in `codenav run`. An unbounded room shows all that is recorded."""
    return "\n".join(line.text for line in _transcript_lines(result, room))


def _transcript_lines(result: EpisodeResult, room: Room) -> Iterator[Line]:
    from codenav.core.actions import CodeObservation

    yield from _head_of(result, room)
    yield Line("")
    for step in result.steps:
        yield from opening_lines(step.number, step.action, room)
        if isinstance(step.observation, CodeObservation):
            yield from call_lines(step.observation.calls, room)
        yield from result_lines(step, room)
        replayed = [one.call for one in result.calls if one.number == step.number and one.by == "replay"]
        yield from call_lines(replayed, room, by="replay")
    if result.under_way:
        number, action = result.under_way.number, result.under_way.action
        yield from action_lines(number, action, room)
        yield from call_lines([one.call for one in result.calls if one.number == number and one.by == "step"], room)
        yield room.line(f"   → {result.status.value} during this step", "yellow")
    yield from cut_off_lines(result.unfinished, room)
    if result.answer:
        yield Line("")
        yield Line(f"Answer   {neutral(result.answer)}")
    if result.agreement_told:
        yield Line(neutral(f"Agreed   {result.agreement_told.removeprefix('agreement: ')}"))
    if result.judges_told:
        yield Line(f"Judges   {result.judges_told.removeprefix('judges: ')}")
        for vote in result.votes:
            yield room.line(f"         {vote.judge}: {vote.word}  {flattened(vote.reason, 1000)}")
    if result.summary.code:
        yield Line(neutral(f"Summary  {result.verdict_told.removeprefix('summary: ')}".rstrip()))
        if result.summary.unsupported:
            yield room.line(f"         not in its output: {', '.join(result.summary.unsupported)}")
        shown = {step.action.content.strip() for step in result.steps if step.action.type == "code_summary"}
        if room.is_all or result.summary.code.strip() not in shown:
            yield from room.block(result.summary.code)


def _head_of(result: EpisodeResult, room: Room) -> Iterator[Line]:
    yield Line(f"Episode  {result.id}")
    yield room.line(f"Request  {result.request if room.is_all else flattened(result.request, 1000)}")
    yield room.line(f"Sources  {', '.join(str(source['source']) for source in result.sources) or 'none'}")
    yield room.line(f"Model    {result.model}")
    if result.parent:
        yield room.line(f"Parent   {result.parent}, which this one goes on from")
    # Never cut, so that the path can be copied.
    yield Line(neutral(f"Sandbox  {result.sandbox.get('backend', 'none')}, work folder {result.work_dir or 'none'}"))
    yield room.line(f"Status   {result.status.value}, {cost_text(result)}")
    for cost in model_costs(result):
        yield room.line(f"         {cost}")
    if result.reason:
        yield Line(neutral(f"Reason   {result.reason}"))
    for notice in result.notices:
        yield Line(neutral(f"Note     {notice}"))
