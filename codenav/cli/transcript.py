"""The text of an episode for `codenav episodes show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from codenav.cli.steps import Line, Room, begun, called, ended, spent, under_way, unfinished
from codenav.core.actions import CodeObservation
from codenav.core.system.terminal_text import flattened, neutral

if TYPE_CHECKING:
    from codenav.episodes.record import EpisodeResult


def transcript(result: EpisodeResult, *, room: Room) -> str:
    """Return an episode with each step as in `codenav run`. An unbounded room shows all that is recorded."""
    return "\n".join(line.text for line in _lines(result, room))


def _lines(result: EpisodeResult, room: Room) -> Iterator[Line]:
    yield from _head(result, room)
    yield Line("")
    for step in result.steps:
        yield from begun(step.number, step.action, room)
        if isinstance(step.observation, CodeObservation):
            yield from called(step.observation.calls, room)
        yield from ended(step, room)
        replayed = [one.call for one in result.calls if one.number == step.number and one.by == "replay"]
        yield from called(replayed, room, by="replay")
    if result.under_way:
        number, action = result.under_way.number, result.under_way.action
        yield from under_way(number, action, room)
        yield from called([one.call for one in result.calls if one.number == number and one.by == "step"], room)
        yield room.line(f"   → {result.status.value} during this {action.type}", "yellow")
    yield from unfinished(result.unfinished, room)
    if result.answer:
        yield Line("")
        yield Line(f"Answer   {neutral(result.answer)}")
    if result.agreement_told:
        yield Line(neutral(f"Agreed   {result.agreement_told.removeprefix('agreement: ')}"))
    if result.summary.code:
        yield Line(neutral(f"Summary  {result.verdict_told.removeprefix('summary: ')}".rstrip()))
        if result.summary.unsupported:
            yield room.line(f"         not in its output: {', '.join(result.summary.unsupported)}")
        shown = {step.action.content.strip() for step in result.steps if step.action.type == "code_summary"}
        if room.is_all or result.summary.code.strip() not in shown:
            yield from room.block(result.summary.code)


def _head(result: EpisodeResult, room: Room) -> Iterator[Line]:
    yield Line(f"Episode  {result.id}")
    yield room.line(f"Request  {result.request if room.is_all else flattened(result.request, 1000)}")
    yield room.line(f"Sources  {', '.join(str(source['source']) for source in result.sources) or 'none'}")
    yield room.line(f"Model    {result.model}")
    # Never cut, so that the path can be copied.
    yield Line(neutral(f"Sandbox  {result.sandbox.get('backend', 'none')}, work folder {result.work_dir or 'none'}"))
    yield room.line(f"Status   {result.status.value}, {spent(result)}")
    if result.reason:
        yield Line(neutral(f"Reason   {result.reason}"))
    for notice in result.notices:
        yield Line(neutral(f"Note     {notice}"))
