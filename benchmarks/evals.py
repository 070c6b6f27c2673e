"""The runner of `codenav eval`: its overhead, its memory, `kill -9` and shards; and self-checks of real checkouts.

    python benchmarks/evals.py                         # all that needs no data: about 15 minutes on 2 cores
    python benchmarks/evals.py memory --samples 100    # one row, smaller
    python benchmarks/evals.py selfcheck --data DIR    # DIR holds code-act, DAMO-ConvAI and mnms
    python benchmarks/evals.py floor --data DIR --prepared ENV

Samples are those of a small benchmark of our own (tests/evals_task.py), played by a script. Bars: 3 % over the same
session, memory flat over 1,000 samples, the same results after 20 kills, two shards equal to one run. That eight shards
as processes, of which two are killed, give the table of one run is a test (tests/evals/test_evals_shards.py).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))

from evals_task import Shop, plays  # noqa: E402

import codenav.evals  # noqa: E402
from codenav.core.actions import Action, Code, Done  # noqa: E402
from codenav.evals import Mode, Result, RunFolder, Sample  # noqa: E402
from codenav.evals.api_bank import ApiBank  # noqa: E402
from codenav.evals.benchmark import write_files  # noqa: E402
from codenav.evals.runs import RESULTS  # noqa: E402
from codenav.session.api import index, open_session  # noqa: E402

PLAIN: Any = {"checks_lint": False, "checks_types": False}
KILLS, BAR_SHARE, BAR_MB = 20, 0.03, 8.0
VARIES = re.compile(r"\d+\.\d+ s|0x[0-9a-f]+")
PROCESS = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from evals_task import Shop, plays
import codenav.evals
out = pathlib.Path(sys.argv[2])
codenav.evals.run(
    Shop(int(sys.argv[3])), out=out, model=plays(), jobs=2,
    checks_lint=False, checks_types=False, resume=(out / "head.json").exists()
)
"""


def short(sample: Sample) -> Sequence[Action | str]:
    """A script of one call and its answer."""
    return [Code(f"from shopping.shop import price\nanswer = price(what='tea{sample.gold}')"), Done(f"{sample.gold}")]


def overhead(samples: int, folder: Path) -> bool:
    """Seconds of an attempt beside those of the same session by hand, which follows on it, sample by sample."""
    by_hand: list[float] = []

    class Both(Shop):
        def score(self, attempt: Any) -> dict[str, Any]:
            began = time.perf_counter()
            hand(attempt.sample, folder / f"work-{len(by_hand)}")
            by_hand.append(time.perf_counter() - began)
            return {"correct": True}

    task = Both(samples)
    setting = task.setting(Mode.CODE_USE, folder / "code")
    with index(setting.on[0]) as opened:

        def hand(sample: Sample, work: Path) -> None:
            work.mkdir()
            for name, content in sample.files.items():
                (work / name).write_bytes(content)
            given = {"description": setting.description, "work_dir": work, "calls": lambda name, arguments: None}
            with open_session(on=[opened], model=plays(short)(sample), **given, **PLAIN) as session:
                session.run(sample.request)

        ends: list[float] = []

        def ended(progress: codenav.evals.Progress) -> None:
            ends.append(time.perf_counter())

        codenav.evals.run(task, out=folder / "run", model=plays(short), finished=ended, **PLAIN)
    by_runner = [end - begin - hand for begin, end, hand in zip(ends, ends[1:], by_hand[1:], strict=False)]
    runner, session = statistics.median(by_runner), statistics.median(by_hand[1:])
    more = statistics.median(mine - its for mine, its in zip(by_runner, by_hand[1:], strict=True)) * 1000
    print(
        f"overhead: {1000 * session:.0f} ms a session by hand, {1000 * runner:.0f} ms by the runner; "
        f"{more:+.0f} ms, {more / session / 10:+.1f} % (median of {len(by_runner)} pairs)"
    )
    return more <= 1000 * BAR_SHARE * session


def memory(samples: int, folder: Path) -> bool:
    """Resident memory after a tenth of the samples, and at the end."""
    seen: list[float] = []

    def ended(progress: codenav.evals.Progress) -> None:
        gc.collect()
        seen.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)

    codenav.evals.run(Quiet(samples), out=folder / "run", model=plays(short), jobs=2, finished=ended, **PLAIN)
    tenth = max(samples // 10, 1)
    begin, end = statistics.mean(seen[tenth : 2 * tenth]), statistics.mean(seen[-tenth:])
    files, threads = len(os.listdir("/proc/self/fd")), [one.name for one in threading.enumerate()]
    print(f"memory: {begin:.1f} MB after {tenth} samples, {end:.1f} MB after {samples}; {files} files open, {threads}")
    return end - begin <= BAR_MB


class Quiet(Shop):
    """The benchmark without its memory of attempts, which would be counted as the runner's."""

    def score(self, attempt: Any) -> dict[str, Any]:
        """The answer is the price."""
        return {"correct": attempt.values.get("answer") == attempt.sample.gold}


def kills(samples: int, folder: Path) -> bool:
    """Twenty kills at random moments, each followed by `resume`; then the results beside those of a quiet run."""
    out, generator = folder / "killed", random.Random(0)
    codenav.evals.run(Shop(samples), out=folder / "whole", model=plays(), jobs=2, **PLAIN)
    torn = killed = 0
    while killed < KILLS:
        process = subprocess.Popen([sys.executable, "-c", PROCESS, str(TESTS), str(out), str(samples)])
        began = time.monotonic()
        wait = generator.uniform(0.5, 4.0)
        while process.poll() is None and time.monotonic() - began < wait:
            time.sleep(0.005)
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        killed += 1
        content = (out / RESULTS).read_bytes() if (out / RESULTS).exists() else b""
        torn += bool(content) and not content.endswith(b"\n")
    codenav.evals.run(Shop(samples), out=out, model=plays(), jobs=2, resume=(out / "head.json").exists(), **PLAIN)
    lines = [json.loads(line)["id"] for line in (out / RESULTS).read_bytes().splitlines()]
    same = lasting(RunFolder.open(out).results()) == lasting(RunFolder.open(folder / "whole").results())
    twice = len(lines) - len(set(lines))
    print(f"kills: {killed} kills, {torn} torn lines, {twice} attempts twice, results {told(same)}")
    return same and len(lines) == len(set(lines)) and killed == KILLS


def shards(samples: int, folder: Path) -> bool:
    """Two shards merged, beside one run."""
    codenav.evals.run(Shop(samples), out=folder / "whole", model=plays(), **PLAIN)
    parts = [folder / "part.1", folder / "part.2"]
    for number, part in enumerate(parts, start=1):
        codenav.evals.run(Shop(samples), out=part, model=plays(), shard=f"{number}/2", **PLAIN)
    merged = codenav.evals.merge(parts, folder / "merged")
    sizes = [len(RunFolder.open(part).results()) for part in parts]
    same = lasting(merged.results()) == lasting(RunFolder.open(folder / "whole").results())
    print(f"shards: {sizes[0]} and {sizes[1]} of {samples} samples, merged {told(same)}")
    return same and sum(sizes) == samples


def told(same: bool) -> str:
    """A comparison in words."""
    return "the same" if same else "NOT the same"


def lasting(results: Sequence[Result]) -> list[Result]:
    """Results without what differs from run to run: times, addresses, ids of records."""
    return [
        replace(
            one,
            seconds=0.0,
            episode="",
            prompt_tokens=0,
            trajectory=[{**step, "observation": VARIES.sub("", step["observation"])} for step in one.trajectory],
        )
        for one in results
    ]


def selfcheck(data: Path, prepared: Path | None) -> bool:
    """The self-checks of all three benchmarks."""
    good = True
    for name, folder, more in (
        ("m3tooleval", "code-act", []),
        ("api-bank", "DAMO-ConvAI", ["--prepared", str(prepared)] if prepared else []),
    ):
        print(f"selfcheck {name}:", flush=True)
        good &= (
            subprocess.call(["codenav", "eval", "prepare", "--selfcheck", name, "--data", str(data / folder), *more])
            == 0
        )
    return good


def recall(data: Path, folder: Path) -> bool:
    """Recall of API-Bank's expected APIs by our search, for two queries: no model.

    `recall@N` is over expected calls, `all@5` the share of samples whose expected APIs are all among the first five.
    """
    task = ApiBank(data / "DAMO-ConvAI")
    names = {f"apis/{api.module}.py": api.name for api in task.apis}
    expected = [[call["name"] for call in dialogue.gold] for dialogue in task.dialogues]
    calls = sum(map(len, expected))
    with codenav.index(write_files(task.files(), folder / "code")) as index:
        for title, whole in (("last message", False), ("dialogue", True)):
            ranked = []
            for dialogue in task.dialogues:
                chat = [str(one["text"]) for one in dialogue.chat if one["role"] != "API"]
                text = "\n".join(chat if whole else chat[-1:])
                # Words are asked for, not syntax: a colon or a quotation mark of a message is none.
                plain = " ".join("".join(one if one.isalnum() or one in "'-" else " " for one in text).split())
                hits = index.search(plain, limit=200)
                ranked.append(list(dict.fromkeys(names[hit.path] for hit in hits if hit.path in names)))
            pairs = list(zip(ranked, expected, strict=True))
            found = {
                f"recall@{place}": sum(name in first[:place] for first, gold in pairs for name in gold) / calls
                for place in (1, 3, 5, 10)
            }
            found["all@5"] = sum(all(name in first[:5] for name in gold) for first, gold in pairs) / len(pairs)
            print(f"search by {title}: " + ", ".join(f"{name} {100 * value:.1f}" for name, value in found.items()))
    return True


ROWS: dict[str, tuple[int, Callable[[int, Path], bool]]] = {
    "overhead": (40, overhead),
    "memory": (1000, memory),
    "kills": (120, kills),
    "shards": (30, shards),
}


def main() -> None:
    """Run the rows, and exit with 1 if a bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", choices=[*ROWS, "selfcheck", "recall", []], metavar="ROW")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--prepared", type=Path)
    options = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory(prefix="codenav-evals-") as temporary:
        os.environ["CODENAV_HOME"] = f"{temporary}/home"
        for name in options.rows or ROWS:
            folder = Path(temporary) / name
            folder.mkdir()
            if name in ROWS:
                good = ROWS[name][1](options.samples or ROWS[name][0], folder)
            elif options.data is None:
                sys.exit(f"{name} needs --data, a folder with code-act, DAMO-ConvAI and mnms")
            elif name == "selfcheck":
                good = selfcheck(options.data, options.prepared)
            else:
                good = recall(options.data, folder)
            print(f"{name}: {'met' if good else 'NOT met'}", flush=True)
            missed += [] if good else [name]
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")
    if missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
