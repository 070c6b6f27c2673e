"""`codenav sandbox start`: start a sandbox that outlives the command."""

from __future__ import annotations

import sys
from typing import Any

import click

from codenav.cli.options import (
    Duration,
    SectionedCommand,
    json_option,
    on_option,
    print_json,
    python_option,
    sandbox_options,
    say,
    set_option,
    setting_option,
    tool_options,
)


@click.command("start", cls=SectionedCommand)
@click.option("--name", metavar="NAME", default="", help="Name of the sandbox.  [default: box1, box2 and so on]")
@on_option(required=False)
@setting_option("work_dir")
@click.option(
    "--idle", type=Duration(), default="1h", show_default=True, help="End the sandbox after this time without a step."
)
@sandbox_options
@tool_options
@python_option
@set_option
@json_option
def command(**options: Any) -> None:
    """Start a sandbox that keeps its variables until it is stopped, and print its name.

    It belongs to a small process of its own, not to this command. 0 as --idle is no limit.

    \b
    Exit codes: 0 it runs, 2 wrong usage or the name is taken, 4 it cannot run here.

    \b
    Examples:
      codenav sandbox start --name lab --on ./my-repo
      codenav sandbox start --sandbox docker --image python:3.12-slim --network bridge
      codenav sandbox start --name lab --env STRIPE_KEY --mount ./data --idle 8h
      codenav sandbox start --on openapi:shop.yaml --secret shop_key=SHOP_KEY --allow write
    """
    from codenav.cli.asking import confirm
    from codenav.cli.sandbox import row_of
    from codenav.core.config import load_config
    from codenav.core.options import SandboxOptions
    from codenav.core.setting import updated
    from codenav.retrieval.source_index import listed
    from codenav.sandboxes.daemon import launch, places
    from codenav.session.sandbox_factory import SandboxFactory, checked_work_dir
    from codenav.tools.reading import asking_with

    config = load_config()
    contained = updated(SandboxOptions(resources=updated(config.resources, options)), options)
    tools = updated(config.tools, options).checked()
    with asking_with(tools.values()):
        factory = SandboxFactory.of(
            contained,
            on=listed(options["sources"]) if options["sources"] else [],
            confirm=confirm if sys.stdin.isatty() and sys.stderr.isatty() else None,
            allow_private=tools.allow_private,
        )
    spec = factory.spec(checked_work_dir(contained.work_dir))
    name, idle = options["name"], options["idle"]
    if factory.folders:
        from codenav.session import named_tools

        described, module = named_tools.described(factory.folders, tools), named_tools.__name__
        name = launch.start(factory.backend, spec, name=name, idle=idle, tools=described, module=module)
    else:
        name = launch.start(factory.backend, spec, name=name, idle=idle)
    record = places.record_of(name)
    info = record.info
    if info and info.notice:
        say(f"Note: {info.notice}", err=True)
    if options["as_json"]:
        print_json(row_of(record))
        return
    say(name)
    if info:
        where = f" in {info.image}" if info.image else ""
        contains = "" if info.isolated else ", which contains nothing"
        say(f"{info.backend}{contains}, Python {info.python_version}{where}, network: {info.network}", err=True)
    say(f'Next: codenav sandbox exec {name} -c "x = 1"', err=True)
