"""`codenav eval report`: tables and pages of runs; `codenav eval judge`: a language model judges one run, or two."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codenav.cli.options import base_url_option, counted, json_option, print_json, say, sized

if TYPE_CHECKING:
    from codenav.evals.judges import Judgement


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="Also write a page with every sample.")
@click.option("--mixed", is_flag=True, help="Accept runs of different settings, and show what differs.")
@click.option("--merge", "out", metavar="RUN", type=click.Path(path_type=Path), help="Join the RUNs, in a new folder.")
@click.option("--anyway", is_flag=True, help="With --merge: join runs of different settings; the report names both.")
@json_option
def report(
    runs: tuple[Path, ...], html: Path | None, mixed: bool, out: Path | None, anyway: bool, as_json: bool
) -> int:
    """Show the scores of one or several runs, beside those of the CodeNav paper.

    Each RUN is a folder that codenav eval run --out wrote. Two runs of the same samples are also compared sample by
    sample. Errors are counted apart and enter no score. docs/evals.md defines each column.

    --merge joins the shards of one run, made with --shard. Runs of different settings, versions, models or servers are
    refused without --anyway, and so are two different results of one attempt. A result replaces an error.

    \b
    Exit codes: 0 done, 2 wrong usage,
    4 --merge: some attempts have no result (codenav eval run --resume).

    \b
    Examples:
      codenav eval report runs/a
      codenav eval report runs/a --html a.html
      codenav eval report runs/code-use runs/tool-use --mixed --html both.html
      codenav eval report runs/a --json
      codenav eval report runs/a.1 runs/a.2 --merge runs/a
    """
    if out is not None:
        if html or mixed or as_json:
            raise click.UsageError("--merge makes a run, not a report: leave out --html, --mixed and --json.")
        return _merge(runs, out, anyway)
    if anyway:
        raise click.UsageError("--anyway goes with --merge.")
    from codenav.evals.report import report as report_of
    from codenav.evals.report_text import report_text

    made = report_of(runs, mixed=mixed)
    if html is not None:
        from codenav.evals.report_html import write_html

        written = write_html(made, html)
        say(f"wrote {html}, {sized(written)}", err=True)
    if as_json:
        print_json(made.to_dict())
    else:
        say(report_text(made))
    return 0


def _merge(runs: tuple[Path, ...], out: Path, anyway: bool) -> int:
    from codenav.evals.runs import merge

    merged = merge(runs, out, anyway=anyway)
    missing = len(merged.head.attempts) - len(merged.finished())
    say(f"{out}: {counted(len(merged.results()), 'attempt')} of {counted(len(runs), 'run')}")
    if missing:
        say(f"Note: {counted(missing, 'attempt')} without a result: codenav eval run --resume --out {out}", err=True)
    return 4 if missing else 0


@click.command("judge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN]", type=click.Path(path_type=Path))
@click.option(
    "--judge", "model", metavar="MODEL", required=True, help="Model name, or scripted:FILE to replay answers."
)
@base_url_option
@click.option("--labels", metavar="FILE", type=click.Path(path_type=Path), help="Verdicts of people, as JSON lines.")
@click.option("--jobs", type=click.IntRange(1, 64), default=4, show_default=True, help="Requests at a time.")
@json_option
def judge(
    runs: tuple[Path, ...], model: str, base_url: str | None, labels: Path | None, jobs: int, as_json: bool
) -> None:
    """Let a model judge a run, or which of two runs is better.

    Of one RUN: the share of requests that were carried out. Of two: the rate at which the first one wins, where each
    pair is shown in both orders and counts as a tie if the orders disagree. The judge does not see expected answers.
    Verdicts are kept in the folder of the first run, so nothing is asked twice.

    --labels compares with people: each line is {"id": "…", "verdict": "…"}, with pass or fail for one run, and first,
    second or tie for two.

    \b
    Examples:
      codenav eval judge runs/a --judge gpt-5
      codenav eval judge runs/a runs/b --judge gpt-5 --jobs 8
      codenav eval judge runs/a --judge gpt-5 --labels people.jsonl --json
    """
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
