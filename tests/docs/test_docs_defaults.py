"""Help texts and pages against the defaults of the code, which stand in `Resources`, `Limits` and `StoreOptions`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from command_line import ROOT

from codenav.cli.main import cli
from codenav.cli.options import Duration, sized
from codenav.core.config import SETTINGS
from codenav.core.execution import MIB, Resources
from codenav.core.setting import size_of
from codenav.sandboxes.daemon.launch import IDLE_SECONDS

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


def test_the_table_of_limits() -> None:
    lines = [CELL.split(line)[1:-1] for line in page("sandbox.md").splitlines() if line.startswith("|")]
    rows = [[cell.strip().strip("`") for cell in line] for line in lines if len(line) == 4]
    told = {variable: default for _, _, variable, default in rows if variable.startswith("CODENAV_")}
    assert set(told) == {"CODENAV_MEMORY", "CODENAV_CPUS", "CODENAV_PIDS", "CODENAV_CODE_TIMEOUT"}
    for variable, default in told.items():
        assert default == SETTINGS[variable.removeprefix("CODENAV_").lower()].default, variable
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


def test_sizes_are_written_as_they_are_read() -> None:
    assert [size_of(number) for number in (2 << 30, 512 << 20, 1536 << 20)] == ["2g", "512m", "1536m"]
