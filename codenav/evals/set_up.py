"""The set-up of a run in sentences: what differs from the paper's, and what a reader has to know first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codenav.evals.paper import EPOCHS, PaperRow
from codenav.evals.recorded import Recorded
from codenav.evals.results import ERROR


def notes(run: Recorded) -> list[str]:
    """Lines that belong above the figures: they say when these are no measurement of a model on the whole task."""
    return list(_notes(run))


def _notes(run: Recorded) -> Iterator[str]:
    if run.head.model.startswith("scripted:"):
        yield "the answers were scripted; no language model was used"
    if run.settings.get("stub_tools"):
        yield "the tools were placeholders (--stub-tools): calls were made, and nothing was computed"
    errors = run.counts()[ERROR]
    if errors:
        yield f"{errors} of {len(run.results)} attempts ended as errors and count as not solved: codenav eval resume"
    missing = run.missing()
    if missing:
        yield f"{missing} of {run.expected()} attempts have no result yet: codenav eval resume"
    if run.head.shard:
        yield f"this is the shard {run.head.shard}: codenav eval merge joins it with the others"
    if run.head.mixed:
        yield f"put together from runs that differ in {', '.join(run.head.mixed)}"
    yield from run.notices


def recall_lines(run: Recorded) -> list[str]:
    """The recall of expected tools by search alone, where a task has measured it (`recall` in its facts)."""
    table = run.head.facts.get("recall")
    if not isinstance(table, dict):
        return []
    return [
        f"search alone, by {query}: " + ", ".join(f"{name} {value:.1f}" for name, value in figures.items())
        for query, figures in table.items()
        if isinstance(figures, dict) and all(isinstance(value, int | float) for value in figures.values())
    ]


def differences(run: Recorded, row: PaperRow) -> Sequence[str]:
    """The differences from the set-up of the paper's row, as far as the paper states its own."""
    return list(_differences(run, row))


def _differences(run: Recorded, row: PaperRow) -> Iterator[str]:
    head, settings = run.head, run.settings
    if head.model.rpartition("/")[2].lower() != row.model.lower():
        yield f"model {head.model}; the paper's was {row.model}"
    if head.epochs != EPOCHS:
        yield f"{head.epochs} epoch{'s' * (head.epochs != 1)}; the paper's figures are means of {EPOCHS} runs"
    if len(head.samples) != row.samples:
        yield f"{len(head.samples)} samples; the paper had {row.samples}"
    elif row.task == "mnms":
        yield "another draw of 200 samples: the paper's ids are not published"
    if str(settings.get("description", "")).startswith("sha256:"):
        yield "the description is a file of your own"
    else:
        yield "descriptions are ours, or built from the checkout; the paper's own words differ"
    guidelines = str(settings.get("guidelines", "default"))
    own = "no guidelines" if guidelines == "none" else "the guidelines are a file of your own"
    yield "guidelines in our words" if guidelines == "default" else own
    if settings.get("docstrings"):
        yield "upstream's descriptions stand as docstrings in the code base"
    yield "the agent, its prompts, search and sandbox are codenav's, not those of the paper's program"
