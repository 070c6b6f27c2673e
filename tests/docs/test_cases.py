"""The pages of `examples/cases`: each command is run in a copy of them, and its script replays with the same result."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import ROOT, codenav

from codenav.agents.models.scripted import read_script
from codenav.core.actions import Code, Done

CASES = ROOT / "examples" / "cases"
MADE = {
    "client": [],
    "data_folder": [],
    "faces": ["people/face-3.png", "people/table.html"],
    "failing_call": ["bakery/bakery/report.py"],
    "own_agent": ["people/boxes.png"],
    "research": ["report.html", "report.md"],
}
"""The files that each case writes into its folder, or into the work folder of its episode."""
LONG = {"own_agent": [pytest.mark.nightly]}
"""It indexes codenav itself."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the cases, with their services."""
    folder = Path(shutil.copytree(CASES, tmp_path / "cases"))
    services = {"SHOP_URL": ROOT / "examples" / "shop_service.py", "DESK": CASES / "desk_service.py"}
    started = []
    for variable, program in services.items():
        service = subprocess.Popen([sys.executable, program, "0"], stdout=subprocess.PIPE, text=True)
        started.append(service)
        assert service.stdout
        monkeypatch.setenv(variable, service.stdout.readline().strip())
    yield folder
    for service in started:
        service.terminate()
        service.communicate()


@pytest.mark.parametrize("name", [pytest.param(name, marks=LONG.get(name, [])) for name in MADE])
def test_a_case_ends_as_its_page_shows(name: str, place: Path) -> None:
    page = (CASES / f"{name}.md").read_text()
    [console] = re.findall(r"^```console\n\$ (.*?)^```", page, re.MULTILINE | re.DOTALL)
    command, _, shown = console.replace("\\\n", " ").partition("\n")
    script = place / f"{name}.md"
    if name in ("client", "data_folder"):
        # What the local model wrote is played, for no test may depend on what it writes next time.
        [code] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        script = place / "played.actions"
        played = [Code(code.strip()), Done(shown.splitlines()[0])]
        script.write_text("".join(f"<action>{action.to_xml()}</action>\n" for action in played))
    else:
        assert read_script(script)
    words = shlex.split(os.path.expandvars(command))[1:]
    words[words.index("--model") + 1] = f"scripted:{script}"
    ran = codenav(*words, cwd=place, within=500)
    assert ran.code == 0, ran.err
    answer, *_, verdict = ran.out.splitlines()
    assert answer == shown.splitlines()[0] and verdict.startswith("summary: reproduced (compared: "), ran.out
    record = codenav("episodes", "show", "last", "--json").document
    files = [Path(path).name for path in MADE[name]]
    assert {Path(one).name for one in record["summary"]["compared"]} >= set(files) or "more" in verdict
    made = [place, Path(record["work_dir"])]
    assert all(any((folder / path).is_file() for folder in made) for path in MADE[name])
    assert record["answer"] == answer and record["summary"]["verified"]
