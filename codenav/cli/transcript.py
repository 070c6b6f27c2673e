"""An episode as text: what `codenav episodes show` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codenav.actions import Step
    from codenav.episodes.record import EpisodeResult


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
    if result.answer:
        yield ""
        yield f"Answer   {result.answer}"
    if result.summary.code:
        yield ""
        yield f"Code summary ({result.summary.told})"
        if result.summary.evidence:
            yield f"   {result.summary.evidence}"
        if result.summary.unsupported:
            yield f"   not in its output: {', '.join(result.summary.unsupported)}"
        yield _indented(result.summary.code)


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
