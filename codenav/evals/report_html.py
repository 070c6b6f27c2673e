"""A report as one HTML page: tables, and each sample with its trajectory. No script, nothing from outside.

The filters are radio buttons and style rules, so the page works where scripts are off; and what a model or its code has
written can run nothing, as the page's policy allows no script at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.execution import REPRODUCED
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.terminal_text import flattened, neutral
from codenav.evals.recorded import OUTCOMES, RunRecord, outcome_of, score_of
from codenav.evals.report import Line, Report, RunRow, TaskTable
from codenav.evals.results import Result

LARGEST = 18_000_000
"""Bytes that a page should not exceed: browsers open it in seconds. Texts are cut further until it fits."""
CAPS = (4000, 1000, 250, 60)
"""Characters of one text in the page, tried in this order. The first is what a run keeps of a step."""


def write_html(report: Report, path: Path) -> int:
    """Write the page, and return its size in bytes.

    Raises:
        NotFound: its folder does not exist.
        UsageError: the path is a folder.
        StorageFull: it cannot be written; an older page stays.
    """
    if not path.absolute().parent.is_dir():
        raise NotFound(f"there is no folder {path.absolute().parent}", hint="make it, or name another file")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file: --html report.html")
    page = html(report)
    try:
        write_whole(path, page)
    except OSError as error:
        raise StorageFull(f"cannot write {path}: {error.strerror}", cause=error) from error
    return len(page.encode())


def html(report: Report) -> str:
    """The page, with the longest texts that leave it below `LARGEST`."""
    page = ""
    for cap in CAPS:
        page = _page(report, cap)
        if len(page.encode()) <= LARGEST:
            break
    return page


def _page(report: Report, cap: int) -> str:
    runs = [[row.run for row in table.rows] for table in report.tables]
    template = files("codenav.evals").joinpath("report_template.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=_text("Evals: " + ", ".join(run.name for of_task in runs for run in of_task), 300),
        filters=_filter_rules(),
        controls=_controls(sum(map(len, runs))),
        tables="\n".join(
            [*map(_table, report.tables), *(f"<p>{_text(one.sentence, 2000)}.</p>" for one in report.compared)]
        ),
        samples="\n".join(part for of_task in runs for part in _samples(of_task, cap)),
    )


def _table(table: TaskTable) -> str:
    head, *lines = table.lines()
    return (
        f"<h2>{_text(table.task, 2000)}</h2>"
        + _rows([_row(head, tag="th")], map(_row, lines))
        + "".join(map(_below, table.rows))
    )


def _row(line: Line, tag: str = "td") -> str:
    cells = "".join(f"<{tag}>{_text(one, 2000)}</{tag}>" for one in (line.label.strip(), *line.cells))
    return f'<tr>{cells}<td class="text">{_text(line.legend, 2000)}</td></tr>' if line.legend else f"<tr>{cells}</tr>"


def _rows(head: Iterable[str], lines: Iterable[str]) -> str:
    return f"<table><thead>{''.join(head)}</thead><tbody>{''.join(lines)}</tbody></table>"


def _below(row: RunRow) -> str:
    """Notes, costs, groups and settings of a run."""
    name = _text(row.run.name, 2000)
    parts = [f'<p class="note">{name}: {_text(note, 2000)}</p>' for note in row.notes]
    parts.append(f'<p class="small">{name}: {row.cost}</p>')
    if row.differs:
        parts.append(f'<p class="small">{name} differs from the paper: {_text("; ".join(row.differs), 2000)}</p>')
    groups = [Line(group, [str(one["attempts"]), str(one["correct"])]) for group, one in row.run.groups().items()]
    if groups:
        head = _row(Line("group", ["attempts", "correct"]), tag="th")
        parts.append(_folded(f"{name}: groups", _rows([head], map(_row, groups))))
    settings = {"made": row.run.head.made, **row.run.settings}
    lines = [_row(Line(key, [str(value)])) for key, value in settings.items()]
    return "".join([*parts, _folded(f"{name}: settings", _rows([], lines))])


def _folded(title: str, content: str) -> str:
    return f'<details class="t"><summary>{title}</summary>{content}</details>'


_OUTCOME_FILTERS = [(outcome, outcome) for outcome in OUTCOMES]
_SCORE_FILTERS = [("zero", "0"), ("part", "between"), ("full", "1")]
_RUN_FILTERS = [("differ", "differ"), ("first", "first is better"), ("second", "second is better")]


def _filter_rules() -> str:
    """A style rule for each button: it hides the samples without its class."""
    values = [value for value, _ in (*_OUTCOME_FILTERS, *_SCORE_FILTERS, *_RUN_FILTERS)]
    return "\n".join(f"body:has(#f-{value}:checked) .s:not(.c-{value}) {{ display: none }}" for value in values)


def _controls(runs: int) -> str:
    groups = [("outcome", _OUTCOME_FILTERS), ("score", _SCORE_FILTERS)]
    if runs == 2:
        groups.append(("runs", _RUN_FILTERS))
    return '<div class="filters">' + "".join(_buttons(name, values) for name, values in groups) + "</div>"


def _buttons(name: str, values: Sequence[tuple[str, str]]) -> str:
    buttons = [f'<label><input type="radio" name="{name}" checked> all</label>']
    buttons += [f'<label><input type="radio" name="{name}" id="f-{id}"> {text}</label>' for id, text in values]
    return f"<fieldset><legend>{name}</legend>{''.join(buttons)}</fieldset>"


def _samples(runs: Sequence[RunRecord], cap: int) -> Iterator[str]:
    """The parts of all samples, in the order of the task."""
    by_id: dict[str, list[list[Result]]] = {}
    for place, run in enumerate(runs):
        for result in run.results:
            by_id.setdefault(result.id, [[] for _ in runs])[place].append(result)
    order = {id: place for run in reversed(runs) for place, id in enumerate(run.head.samples)}
    scores = [run.sample_scores() for run in runs]
    for id in sorted(by_id, key=lambda one: order.get(one, len(order))):
        yield _sample(id, by_id[id], runs, [score.get(id) for score in scores], cap)


def _sample(
    id: str, sides: Sequence[Sequence[Result]], runs: Sequence[RunRecord], scores: Sequence[float | None], cap: int
) -> str:
    results = [result for side in sides for result in side]
    one = results[0]
    shown = " ".join(_side_summary(side) for side in sides)
    columns = "".join(
        f"<section><h3>{_text(run.name, 200)}</h3>{_attempts(side, run, cap) or 'not run'}</section>"
        for run, side in zip(runs, sides, strict=True)
    )
    return (
        f'<details class="s {_classes(results, scores)}"><summary><span class="id">{_text(id, 80)}</span>{shown}'
        f'<span class="q">{_text(flattened(one.request, 110), 110)}</span></summary>'
        f"<b>Request</b>{_pre(one.request, 4 * cap)}<b>Expected</b>{_pre(_json(one.gold), cap)}"
        f'<div class="sides">{columns}</div></details>'
    )


def _classes(results: Sequence[Result], scores: Sequence[float | None]) -> str:
    found = {f"c-{outcome_of(result)}" for result in results}
    for score in scores:
        if score is not None:
            found.add("c-zero" if score <= 0 else "c-full" if score >= 1 else "c-part")
    if len(scores) == 2 and None not in scores and scores[0] != scores[1]:
        found |= {"c-differ", "c-first" if (scores[0] or 0) > (scores[1] or 0) else "c-second"}
    return " ".join(sorted(found))


def _side_summary(side: Sequence[Result]) -> str:
    """The outcomes of a sample in one run, one for each epoch."""
    if not side:
        return '<span class="o">–</span>'
    return "".join(f'<span class="o {outcome_of(result)}">{_outcome_text(result)}</span>' for result in side)


def _outcome_text(result: Result) -> str:
    outcome, score = outcome_of(result), score_of(result)
    return outcome if score is None or score in (0, 1) else f"{outcome} {score:.2f}"


def _attempts(side: Sequence[Result], run: RunRecord, cap: int) -> str:
    return "".join(_attempt(result, run.judged.get((result.id, result.epoch), ()), cap) for result in side)


def _attempt(result: Result, judged: Sequence[str], cap: int) -> str:
    outcome = outcome_of(result)
    facts = [
        f"epoch {result.epoch}",
        f"{result.steps} steps",
        f"{result.prompt_tokens + result.completion_tokens:,} tokens",
        f"{result.seconds:.1f} s",
        REPRODUCED if result.verified else "",
        f"codenav episodes show {result.episode}" if result.episode else "",
    ]
    parts = [
        f'<p class="small"><span class="o {outcome}">{outcome}</span>'
        f"{_text(' · '.join(fact for fact in facts if fact), 300)}</p>",
        _part("Reason", result.reason, cap),
        _part("Scores", _json(result.scores), cap),
        _part("Judged", "\n".join(judged), cap),
        _part("Answer", result.answer, cap),
        _part("Values", _json(dict(result.values)) if result.values else "", cap),
        _part("Program", result.program, 2 * cap),
        _part("Calls", "\n".join(_call(call) for call in result.calls), cap),
    ]
    if result.trajectory:
        steps = "".join(_step(number, step, cap) for number, step in enumerate(result.trajectory, start=1))
        parts.append(_folded("Trajectory", steps))
    return "".join(parts)


def _call(call: Any) -> str:
    arguments = call.get("arguments")
    pairs = arguments.items() if isinstance(arguments, dict) else ()
    failed = "  (in a step that failed)" if call.get("failed") else ""
    return f"{call.get('step', '')}  {call.get('name', '')}({', '.join(f'{k}={v!r}' for k, v in pairs)}){failed}"


def _step(number: int, step: Any, cap: int) -> str:
    thought, observation = str(step.get("thought") or ""), str(step.get("observation") or "")
    return (
        f'<div class="step"><b>{number} {_text(str(step.get("action", "")), 40)}</b>'
        + (f"<p>{_text(thought, cap)}</p>" if thought else "")
        + _pre(str(step.get("content") or ""), cap)
        + (_pre(observation, cap) if observation else "")
        + "</div>"
    )


def _part(name: str, text: str, cap: int) -> str:
    return f"<b>{name}</b>{_pre(text, cap)}" if text else ""


def _pre(text: str, cap: int) -> str:
    return f"<pre>{_text(text, cap)}</pre>"


def _text(text: str, cap: int) -> str:
    """A text of bounded length that is nothing but text, whoever wrote it."""
    left = len(text) - cap
    cut = text if left <= 0 else f"{text[:cap]}\n… {left:,} characters left out"
    return escape(neutral(cut))


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=1, default=repr)
