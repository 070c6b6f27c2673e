"""Eight shards as processes, two of them killed and started again: the table is that of one run, byte for byte."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from command_line import codenav

from codenav.evals.runs import RESULTS, Head, RunFolder

SAMPLES, SHARDS, SECONDS = 16, 8, 900.0
PROGRAM = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from evals_task import Shop, plays
import codenav.evals
out = pathlib.Path(sys.argv[2])
codenav.evals.run(
    Shop(int(sys.argv[3])), out=out, model=plays(), shard=sys.argv[4], sandbox="bubblewrap",
    checks_lint=False, checks_types=False, resume=(out / "head.json").exists(),
)
"""


def started(out: Path, shard: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent.parent), str(out), str(SAMPLES), shard]
    return subprocess.Popen(command)


def lines(out: Path) -> int:
    return (out / RESULTS).read_bytes().count(b"\n") if (out / RESULTS).exists() else 0


def table(folder: Path, *options: str) -> str:
    """The table of the run `m` in a folder, without the seconds, which no two runs share."""
    ran = codenav("eval", "table", "m", *options, cwd=folder)
    assert ran.code == 0, ran.err
    timed = ("seconds", "in all")
    return "\n".join(line for line in ran.out.split("\n") if not line.startswith(timed))


def test_eight_shards_of_which_two_are_killed_give_the_table_of_one_run(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    names = [f"{part}/{SHARDS}" for part in range(1, SHARDS + 1)]
    ids = [f"s{number}" for number in range(SAMPLES)]
    sizes = {name: len(Head("shop", "", "", 1, ids, shard=name).attempts) for name in names}
    killed = sorted(names, key=lambda name: -sizes[name])[:2]
    end = time.monotonic() + SECONDS
    with contextlib.ExitStack() as ending:
        processes: dict[str, subprocess.Popen[bytes]] = {}

        def start(name: str, out: Path, shard: str = "") -> None:
            processes[name] = process = ending.enter_context(started(out, shard))
            ending.callback(process.kill)

        for name in names:
            start(name, parts / name[0], name)
        for name in killed:
            while not lines(parts / name[0]):
                assert processes[name].poll() is None and time.monotonic() < end
                time.sleep(0.01)
            processes[name].kill()
            processes[name].wait()
            assert 1 <= lines(parts / name[0]) < sizes[name]
            start(name, parts / name[0], name)
        start("whole", whole / "m")
        codes = {name: process.wait(max(1.0, end - time.monotonic())) for name, process in processes.items()}
        assert codes == dict.fromkeys(processes, 0)
    merged = codenav("eval", "merge", *[parts / name[0] for name in names], "--out", parts / "m")
    assert merged.code == 0 and f"{SAMPLES} attempts of {SHARDS} runs" in merged.out, merged.err
    assert table(parts) == table(whole)

    def results(folder: Path) -> list[Any]:
        return [(one.id, one.status, one.scores, one.answer, one.program, one.calls)
                for one in RunFolder.open(folder / "m").results()]  # fmt: skip

    assert results(parts) == results(whole) and len(results(whole)) == SAMPLES
