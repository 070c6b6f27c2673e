"""Help texts and pages against the defaults of the code, which stand in `Resources`, `Limits` and `StoreOptions`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from command_line import ROOT

from codenav.cli.main import cli
from codenav.cli.options import Duration, default_of, sized
from codenav.core.config import Config, size_of
from codenav.core.execution import MIB, Resources
from codenav.core.limits import Limits
from codenav.sandboxes.daemon.launch import IDLE_SECONDS

KEYS = {
    "memory": "memory", "cpus": "cpus", "pids": "pids", "code_timeout": "code_timeout", "store": "store",
    "elasticsearch_replicas": "elasticsearch_replicas", "elasticsearch_shards": "elasticsearch_shards",
    "vectors": "vectors", "max_steps": "limit_steps", "max_seconds": "limit_seconds", "max_tokens": "limit_tokens",
}  # fmt: skip
"""Names of options whose default is a key of the configuration."""
CELL = re.compile(r"(?<!\\)\|")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def commands(group: click.Command, name: str = "codenav") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(group, click.Group):
        yield name, group
        return
    context = click.Context(group)
    for child in group.list_commands(context):
        found = group.get_command(context, child)
        assert found
        yield from commands(found, f"{name} {child}")


OPTIONS = [
    pytest.param(command, option, KEYS.get(option.name or "", "sandbox"), id=f"{name} {option.opts[0]}")
    for name, command in commands(cli)
    for option in command.params
    if not name.startswith("codenav elasticsearch")  # the memory of a server is another one
    and isinstance(option, click.Option)
    and (option.name in KEYS or option.opts[0] in ("--sandbox", "--backend"))
]


@pytest.mark.parametrize(("command", "option", "key"), OPTIONS)
def test_a_help_text_tells_the_default_and_the_option_leaves_it_to_the_configuration(
    command: click.Command, option: click.Option, key: str
) -> None:
    assert default_of(key) in (option.help or "")
    given = command.make_context("codenav", [], resilient_parsing=True).params
    assert given[option.name or ""] is None


def test_every_key_of_those_has_an_option() -> None:
    assert {key for param in OPTIONS for key in param.values[2:]} == {*KEYS.values(), "sandbox"}


def test_the_table_of_limits() -> None:
    lines = [CELL.split(line)[1:-1] for line in page("sandbox.md").splitlines() if line.startswith("|")]
    rows = [[cell.strip().strip("`") for cell in line] for line in lines if len(line) == 4]
    told = {variable: default for _, _, variable, default in rows if variable.startswith("CODENAV_")}
    assert set(told) == {"CODENAV_MEMORY", "CODENAV_CPUS", "CODENAV_PIDS", "CODENAV_CODE_TIMEOUT"}
    for variable, default in told.items():
        assert f"[default: {default}]" == default_of(variable.removeprefix("CODENAV_").lower()), variable
    beside = {option: default for _, option, _, default in rows}
    assert beside["Resources.work_bytes`, `.file_bytes"].startswith(f"{Resources.work_bytes // MIB} MiB each")
    assert Resources.work_bytes == Resources.file_bytes
    assert beside["Resources.output_bytes"].startswith(f"{sized(Resources.output_bytes)} each")
    assert beside["Resources.display_bytes"] == f"{Resources.display_bytes // MIB} MiB"
    idle, _, never = beside["--idle"].partition(";")
    assert Duration().convert(idle, None, None) == IDLE_SECONDS and never == " 0 is no limit"


def test_the_idle_time_of_the_command_is_that_of_the_code() -> None:
    (option,) = (
        option
        for name, command in commands(cli)
        for option in command.params
        if name == "codenav sandbox start" and option.name == "idle"
    )
    assert Duration().convert(option.default, None, None) == IDLE_SECONDS


def test_the_promise_of_the_concepts() -> None:
    text = " ".join(page("concepts.md").split())
    size = f"{Resources.memory_bytes >> 30} GiB"
    assert f"{size} of memory, {Resources.cpus:g} CPUs, {Resources.processes} processes" in text


def test_elasticsearch_options() -> None:
    text = page("elasticsearch.md")
    for key in ("elasticsearch_replicas", "elasticsearch_shards"):
        (row,) = re.findall(rf"^\| `--{key.replace('_', '-')} N`.*$", text, re.MULTILINE)
        assert f"Default {getattr(Config, key)} |" in row


def test_sizes_are_written_as_they_are_read() -> None:
    assert [size_of(number) for number in (2 << 30, 512 << 20, 1536 << 20)] == ["2g", "512m", "1536m"]
    assert Config().limits() == Limits()
