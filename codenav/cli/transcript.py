"""An episode as text: what `codenav episodes show` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from codenav.cli.options import counted

if TYPE_CHECKING:
    from codenav.actions import Step
    from codenav.episodes.record import EpisodeResult


LINES = 6
"""Of what a model had written when it was cut off, where not all is shown."""


def transcript(result: EpisodeResult) -> str:
    """The whole episode, with all that the model wrote and was shown."""
    return "\n".join(_lines(result))


def _lines(result: EpisodeResult) -> Iterator[str]:
    yield f"Episode  {result.id}"
    yield f"Request  {result.request}"
    yield f"Sources  {', '.join(str(source['source']) for source in result.sources) or 'none'}"
    yield f"Model    {result.model}, {result.usage.tokens} tokens in {result.usage.requests} requests"
    yield f"Sandbox  {result.sandbox.get('backend', 'none')}, work folder {result.work_dir or 'none'}"
    yield f"Status   {result.status.value}, {len(result.steps)} steps, {result.seconds:.1f} s"
    if result.reason:
        yield f"Reason   {result.reason}"
    for notice in result.notices:
        yield f"Note     {notice}"
    for step in result.steps:
        yield from _step(step)
    if result.unfinished:
        yield ""
        yield from unfinished(result)
    if result.answer:
        yield ""
        yield f"Answer   {result.answer}"
    if result.summary.code:
        verdict = "verified" if result.summary.verified else f"not verified: {result.summary.reason}"
        yield ""
        yield f"Code summary ({verdict})"
        yield _indented(result.summary.code)


def unfinished(result: EpisodeResult, *, width: int | None = None) -> Iterator[str]:
    """What the model had written when its last request was cut off: whole, or its end in lines of `width`."""
    if not result.unfinished:
        return
    yield "The model was cut off while it wrote:"
    parts = (result.unfinished.reasoning, result.unfinished.response)
    written = [line.rstrip() for part in parts for line in part.strip().splitlines()]
    if width is None:
        yield from (f"   {line}".rstrip() for line in written)
        return
    written = [line for line in written if line]
    left_out = len(written) - LINES
    if left_out > 0:
        yield f"   … {counted(left_out, 'line')} before"
    *lines, last = written[-LINES:]
    for line in lines:
        yield f"   {line if len(line) <= width - 3 else line[: width - 4] + '…'}"
    yield f"   {last if len(last) <= width - 3 else '…' + last[4 - width :]}"


def _step(step: Step) -> Iterator[str]:
    yield ""
    yield f"{step.number}. {step.action.type}  ({step.seconds:.2f} s)"
    if step.action.thought:
        yield f"   {step.action.thought}"
    yield _indented(step.action.content)
    if not step.observation.ends and step.action.type != "done":
        yield "   ──"
        yield _indented(step.observation.text)


def _indented(text: str) -> str:
    return "\n".join(f"   {line}".rstrip() for line in text.strip("\n").splitlines())
