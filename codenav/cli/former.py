"""Commands and options of the version before, with what took their place. Each is answered in one sentence."""

from __future__ import annotations

import click

COMMANDS = {
    "models show": "codenav models list NAME",
    "sources show": "codenav sources list SOURCE",
    "sources check": "codenav doctor --store",
    "episodes export": "codenav episodes show ID --notebook FILE --script FILE --record FILE",
    "prompt show": "codenav prompt",
    "prompt copy": "codenav prompt --copy FOLDER",
    "sandbox repl": "codenav sandbox exec NAME, without a SCRIPT",
    "sandbox logs": "codenav sandbox ps NAME",
    "sandbox restore": "codenav sandbox checkpoint NAME --restore NUMBER",
    "sandbox check": "codenav doctor --sandbox NAME",
    "sandbox prune": "codenav sandbox stop --leftovers",
    "tools list": "codenav tools show --on SOURCE",
    "graph draw": "codenav graph show --on SOURCE --out FILE",
    "eval list": "codenav eval prepare, without a NAME",
    "eval selfcheck": "codenav eval prepare NAME --data DIR --selfcheck",
    "eval resume": "codenav eval run --resume --out RUN",
    "eval ablate": "codenav eval run NAME --ablation ROW",
    "eval report": "codenav eval table RUN...",
    "eval judge": "codenav eval table RUN [RUN] --judge MODEL",
}
OPTIONS = {
    "--format": "--set checks.format=yes",
    "--no-format": "--set checks.format=no",
    "--lint": "--set checks.lint=yes",
    "--no-lint": "--set checks.lint=no",
    "--types": "--set checks.types=yes",
    "--no-types": "--set checks.types=no",
    "--no-vectors": "--set vectors=no",
    "--no-snapshots": "--set snapshots=no",
    "--no-rerank": "--set rerank=no",
    "--rerank": "--set rerank.url=URL",
    "--rewrite": "--set rewrite.model=MODEL",
    "--within": "--set graph.within=ACTION",
    "--graph": "--set graph.file=FILE",
    "--within-hops": "--set graph.hops=N",
    "--within-threshold": "--set graph.threshold=SCORE",
    "--backend": "--sandbox",
    "--around": "the argument NAME",
}


OF_EVALS = {
    "--mode": "--use code, or --use tools",
    "--epochs": "--seeds",
    "--table": "--ablation NAME",
    "--merge": "codenav eval merge RUN... --out DIR",
}


def refuse_option(error: click.NoSuchOption) -> str:
    """The message for an option that a command does not have: what took its place, where something did."""
    from codenav.core.config import SETTINGS

    name = error.option_name
    if name == "--on" and error.ctx and any(one.name == "sources" for one in error.ctx.command.params):
        return f"--on is not written here: {error.ctx.command_path} SOURCE"
    of_evals = OF_EVALS if error.ctx and " eval " in error.ctx.command_path else {}
    now = of_evals.get(name) or OPTIONS.get(name, "")
    for one in SETTINGS.values():
        if one.option == name and one.configured and not now:
            now = f"the variable {one.variable}" if one.secret else f"--set {one.key}={one.metavar or 'yes'}"
    return f"{name} is {now} now." if now else error.format_message()
