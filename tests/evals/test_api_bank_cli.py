"""`codenav eval` on API-Bank: a small data set of our own through the commands, and bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import Ran, codenav

DATA = Path(__file__).resolve().parent.parent / "data" / "evals" / "api_bank"
SCRIPT = """
<action><type>code</type><content>from apis import GetToken, LendBook
token = GetToken().call("Ada", pin="1815")["output"]["token"]
LendBook().call(token, title="Momo", days=14)</content></action>
<action><type>done</type><content>Your loan is made.</content></action>
"""


def bank(command: str, *arguments: str | Path, data: Path = DATA, env: dict[str, str] | None = None) -> Ran:
    """A command of `codenav eval` on the small data set."""
    return codenav("eval", command, "api-bank", "--data", data, "--any-commit", *arguments, env=env)


def one_line(ran: Ran) -> str:
    """The message of a command that was refused, which is no traceback."""
    assert "Traceback" not in ran.err
    return next(line for line in ran.err.splitlines() if line.startswith("Error"))


def test_a_run_and_its_results(tmp_path: Path) -> None:
    (tmp_path / "ada.actions").write_text(SCRIPT)
    options = (
        "--model", f"scripted:{tmp_path / 'ada.actions'}", "--ids", "dialogue-003", "--set=checks.lint=no",
        "--set=checks.types=no",
    )  # fmt: skip
    ran = bank("run", *options, "--out", tmp_path / "run")
    assert ran.code == 0, ran.err
    assert "f1 100.0" in ran.out and "accepted 100.0" in ran.out
    [line] = (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    result = json.loads(line)
    assert result["scores"]["correct"] and [call["name"] for call in result["calls"]] == ["GetToken", "LendBook"]
    head = json.loads((tmp_path / "run" / "head.json").read_text())
    assert head["facts"]["environment"] == "the caller's" and head["facts"]["description"] == "library"
    # The run's folder holds the code base; what is expected is in the results alone.
    written = [path for path in (tmp_path / "run" / "code").rglob("*") if path.is_file()]
    assert written and not any("31415926" in path.read_text() for path in written)


def test_selfcheck_fails_where_earlier_calls_do(tmp_path: Path) -> None:
    data = Path(shutil.copytree(DATA, tmp_path / "data"))
    members = data / "init_database" / "Members.json"
    members.write_text(members.read_text().replace("1815", "1816"))
    ran = bank("prepare", "--selfcheck", data=data)
    assert ran.code == 1
    assert "FAIL  earlier calls that the APIs accept: 3, not 4" in ran.out
    assert "ok    samples with F1 = 100 by name: 7" in ran.out
    assert "dialogue-010 (Translate-level-1-1.jsonl): Translate: needs the network" in ran.out


@pytest.mark.nightly
def test_prepare_without_a_network_says_so(tmp_path: Path) -> None:
    ran = bank("prepare", "--out", tmp_path / "out", env={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)})
    assert ran.code == 4
    assert "the packages cannot be installed" in one_line(ran)
    assert "PIP_FIND_LINKS" in ran.err
    # No half of an environment is left, which the next start would take for a whole one.
    assert not any((tmp_path / "out").iterdir())
