"""`codenav eval report`: tables and pages of runs."""

from __future__ import annotations

from pathlib import Path

import click

from codenav.cli.options import json_option, print_json, say, sized


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="Also write a page with every sample.")
@click.option("--mixed", is_flag=True, help="Accept runs of different settings, and show what differs.")
@json_option
def command(runs: tuple[Path, ...], html: Path | None, mixed: bool, as_json: bool) -> None:
    """Show the scores of one or several runs, beside those of the CodeNav paper.

    Each RUN is a folder that codenav eval run --out wrote. Two runs of the same samples are also compared sample by
    sample. Errors are counted apart and enter no score. docs/evals.md defines each column.

    \b
    Examples:
      codenav eval report runs/a
      codenav eval report runs/a --html a.html
      codenav eval report runs/code-use runs/tool-use --mixed --html both.html
      codenav eval report runs/a --json
    """
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
