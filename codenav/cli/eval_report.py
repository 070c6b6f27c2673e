"""`codenav eval report`: tables and pages of runs."""

from __future__ import annotations

from pathlib import Path

import click

from codenav.cli.options import counted, json_option, print_json, say, sized


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="Also write a page with every sample.")
@click.option("--mixed", is_flag=True, help="Accept runs of different settings, and show what differs.")
@click.option("--merge", "out", metavar="RUN", type=click.Path(path_type=Path), help="Join the RUNs, in a new folder.")
@click.option("--anyway", is_flag=True, help="With --merge: join runs of different settings; the report names both.")
@json_option
def command(
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
    from codenav.evals.report import report
    from codenav.evals.report_text import report_text

    made = report(runs, mixed=mixed)
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
    from codenav.evals.results import ERROR
    from codenav.evals.runs import merge

    merged = merge(runs, out, anyway=anyway)
    results = merged.results()
    missing = len(merged.head.attempts) - sum(one.status != ERROR for one in results)
    say(f"{out}: {counted(len(results), 'attempt')} of {counted(len(runs), 'run')}")
    if missing:
        say(f"Note: {counted(missing, 'attempt')} without a result: codenav eval run --resume --out {out}", err=True)
    return 4 if missing else 0
