"""`codenav eval table`: tables and pages of runs, and a model that judges them; `codenav eval merge`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codenav.cli.eval import FOLDER
from codenav.cli.options import (
    SectionedCommand,
    base_url_option,
    counted,
    json_option,
    print_json,
    say,
    section,
    sized,
)

if TYPE_CHECKING:
    from codenav.evals.judges import Judgement


@click.command("table", cls=SectionedCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=FOLDER)
@click.option("--paper", is_flag=True, help="Show the rows of the CodeNav paper, and what differs from its set-up.")
@click.option("--html", metavar="FILE", type=FOLDER, help="Also write a page with every sample.")
@click.option("--mixed", is_flag=True, help="Accept runs of different settings, and show what differs.")
@section(
    "Judge",
    click.option("--judge", "model", metavar="MODEL", help="Let a model judge one RUN, or which of two is better."),
    base_url_option,
    click.option("--labels", metavar="FILE", type=FOLDER, help="Verdicts of people, as JSON lines."),
    click.option("--jobs", type=click.IntRange(1, 64), default=4, show_default=True, help="Requests at a time."),
)
@json_option
def table(
    runs: tuple[Path, ...],
    paper: bool,
    html: Path | None,
    mixed: bool,
    model: str | None,
    base_url: str | None,
    labels: Path | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Show the scores of runs, each a row or a column, with intervals and paired tests.

    Each RUN is a folder that codenav eval run --out or codenav eval merge wrote. Runs of one benchmark are tested
    against the first one, attempt by attempt. They may differ in --use and --ablation; any other difference is refused
    without --mixed. Errors count as not solved. docs/evals.md defines each column.

    --judge asks a model in place of the table. Of one RUN: the share of requests that were carried out. Of two: the
    rate at which the first one wins, where each pair is shown in both orders and counts as a tie if the orders
    disagree. The judge does not see expected answers. Verdicts are kept in the folder of the first run, so nothing is
    asked twice. --labels compares with people: each line is {"id": "…", "verdict": "…"}, with pass or fail for one
    run, and first, second or tie for two.

    \b
    Examples:
      codenav eval table runs/*
      codenav eval table runs/a --paper --html a.html
      codenav eval table runs/code runs/tools --json
      codenav eval table runs/a runs/b --judge gpt-5 --jobs 8
    """
    if model:
        if html or mixed or paper:
            raise click.UsageError("--judge makes no table: leave out --html, --mixed and --paper.")
        _judge(runs, model, base_url, labels, jobs, as_json)
        return
    if labels or base_url:
        raise click.UsageError("--labels and --base-url go with --judge.")
    from codenav.evals.report import report as report_of
    from codenav.evals.report_text import report_text

    made = report_of(runs, mixed=mixed, with_paper=paper)
    if html is not None:
        from codenav.evals.report_html import write_html

        written = write_html(made, html)
        say(f"wrote {html}, {sized(written)}", err=True)
    if as_json:
        print_json(made.to_dict())
    else:
        say(report_text(made))


@click.command("merge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=FOLDER)
@click.option("--out", metavar="DIR", required=True, type=FOLDER, help="New folder for the whole run.")
@click.option("--anyway", is_flag=True, help="Join what is there, whatever differs or is missing; the table says so.")
def merge(runs: tuple[Path, ...], out: Path, anyway: bool) -> int:
    """Join the shards of one run, made with --shard, in a new folder.

    Shards of one number, a shard that is missing, runs of different settings, models, versions or data, and two
    different results of one attempt are refused. A result replaces an error.

    \b
    Exit codes: 0 done, 2 wrong usage, 4 some attempts have no result (codenav eval run --resume).

    \b
    Examples:
      codenav eval merge runs/a-1 runs/a-2 --out runs/a
    """
    from codenav.evals.runs import merge as merged_of

    merged = merged_of(runs, out, anyway=anyway)
    missing = len(merged.head.attempts) - len(merged.finished())
    say(f"{out}: {counted(len(merged.results()), 'attempt')} of {counted(len(runs), 'run')}")
    if missing:
        say(f"Note: {counted(missing, 'attempt')} without a result: codenav eval run --resume --out {out}", err=True)
    return 4 if missing else 0


def _judge(
    runs: tuple[Path, ...], model: str, base_url: str | None, labels: Path | None, jobs: int, as_json: bool
) -> None:
    """Let a model judge, and print what it says."""
    if len(runs) > 2:
        raise click.UsageError(f"{len(runs)} runs: one run is judged, or two are compared.")
    if len({run.resolve() for run in runs}) < len(runs):
        raise click.UsageError("the two runs are one: name another one, or judge it alone.")
    from codenav.agents.judge import FAIL, FIRST, PASS, SECOND, TIE, Judge
    from codenav.agents.models import open_model
    from codenav.core.config import load_config
    from codenav.evals.judges import judge_pair, judge_run
    from codenav.evals.recorded import RunRecord
    from codenav.evals.verdicts import VerdictFile, read_labels

    words = [PASS, FAIL] if len(runs) == 1 else [FIRST, SECOND, TIE]
    people = read_labels(labels, words=words) if labels else None
    read = [RunRecord.read(run) for run in runs]
    kept = VerdictFile(runs[0])
    opened = open_model(
        model, base_url=base_url or load_config().model.base_url, notice=lambda text: say(text, err=True)
    )
    # A script has one order of answers.
    jobs = 1 if model.startswith("scripted:") else jobs
    done = _show if sys.stderr.isatty() else None
    try:
        judge = Judge(opened)
        if len(read) == 1:
            made = judge_run(judge, read[0], kept, jobs=jobs, done=done)
        else:
            made = judge_pair(judge, read[0], read[1], kept, jobs=jobs, done=done)
    finally:
        opened.close()
    made = replace(made, labels=people)
    if as_json:
        print_json(made.to_dict())
    else:
        _print(made)


def _show(done: int, total: int) -> None:
    click.echo(f"\r\x1b[K{done} of {total} judged" + ("\r\x1b[K" if done == total else ""), nl=False, err=True)


def _print(made: Judgement) -> None:
    from codenav.agents.judge import UNREADABLE
    from codenav.core.system.terminal_text import flattened
    from codenav.evals.recorded import cell

    counts, rate = made.counts(), made.rate()
    say(f"judge        {made.judge}")
    if made.second:
        say(f"first        {made.first}")
        say(f"second       {made.second}")
    name = "win rate, %" if made.second else "pass rate, %"
    say(f"{name:<12} {cell(name, rate)}")
    for word, count in counts.items():
        say(f"{word:<12} {count}")
    if made.second:
        say(f"Of the ties, {sum(not one.consistent for one in made.verdicts)} had a different winner in each order.")
    unasked = sum(not one.asked for one in made.verdicts)
    if unasked:
        say(f"{unasked} without an answer were not shown to the judge.")
    if made.left_out:
        say(f"{made.left_out} left out: an error, or an attempt that only one run has.")
    unread = [one for one in made.verdicts if one.verdict == UNREADABLE]
    if unread:
        answer = flattened(unread[0].reason, 100)
        say(f"Note: no verdict on {len(unread)} could be read; of {unread[0].id} the judge said: {answer}", err=True)
    say(f"tokens       {sum(one.tokens for one in made.verdicts):,}")
    agreement = made.agreement()
    if agreement is not None:
        kappa = "–" if agreement["kappa"] is None else f"{agreement['kappa']:.2f}"
        say(f"people       agree on {agreement['agree']} of {agreement['labels']} labels, kappa {kappa}")
