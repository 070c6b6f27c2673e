"""The loop without model and sandbox: its own time, records of runs that are killed, and a store of many records.

    python benchmarks/agent_loop.py                            # all parts
    python benchmarks/agent_loop.py steps                      # our own time per step, at step 10 and 200
    python benchmarks/agent_loop.py kills --times 100          # kill -9 at random moments of runs that write by a tool
    python benchmarks/agent_loop.py records --count 1000       # `episodes list` and `show last`, whole processes

`steps`: a session whose model and environment answer at once. The time holds the prompt, the parsing of the answer, the
events and the record; what the disk takes to have it safely (fsync) is told beside. Observations have 1,500 characters.

`kills`: each run orders from a local service, once in each of three steps, and gets SIGKILL at a random moment of the
time that a whole one takes from the first line of its record. Then its record is read, and it is resumed. No two orders
are the same, so one that arrives twice was sent twice.

`records`: medians of five, beside an interpreter that does nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import machine, repeated, run

import codenav
from codenav.agents.models.scripted import FunctionModel
from codenav.core.actions import Action, Code, CodeObservation, Observation
from codenav.core.config import episodes_dir
from codenav.core.execution import Execution, Outcome
from codenav.core.limits import Limits
from codenav.core.messages import Completion
from codenav.core.usage import Usage
from codenav.environments import EpisodeParts
from codenav.environments.endings import DoneEnvironment

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
OBSERVED = 1500
"""Characters of an observation."""
COMMANDS = ("codenav episodes list", "codenav episodes show last")
"""The commands of which the time is wanted."""
AT = (10, 200)
AROUND = 5
"""Steps before and after the one that is told, of which the median is taken."""
ACTION = "<action><type>{}</type><content>\n{}\n</content></action>\n"
CHECKS = ("--set=checks.types=no", "--set=checks.lint=no")


class Instant:
    """An environment of code that runs nothing."""

    action: type[Action] = Code

    def facts(self) -> dict[str, str]:
        return dict.fromkeys(
            ("python", "packages", "work_dir", "network", "timeout", "imports", "checks", "files", "variables"), ""
        )

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        execution = Execution(Outcome.OK, stdout="x" * OBSERVED, stdout_bytes=OBSERVED, seconds=0.0)
        return CodeObservation(f"Outcome: ok\nstdout:\n{execution.stdout}", execution=execution)


def session(home: Path) -> codenav.Session:
    """A session that answers each step at once."""
    (home / "farm").mkdir(exist_ok=True)
    (home / "farm" / "farm.py").write_text("def acres():\n    return 12\n")
    made: Counter[str] = Counter()

    def answer(messages: Any) -> Completion:
        made["steps"] += 1
        name = f"x{made['steps']}"
        text = f"<action><thought>Next.</thought><type>code</type><content>\n{name} = {made['steps']}\nprint({name})\n"
        return Completion(f"{text}</content></action>", usage=Usage(requests=1, input_tokens=9, output_tokens=9))

    def environments(parts: EpisodeParts) -> list[Any]:
        return [Instant(), DoneEnvironment()]

    return codenav.Session(
        on=home / "farm", model=FunctionModel(answer), environments=environments, sandbox="process",
        limits=Limits(steps=0, seconds=0),
    )  # fmt: skip


def steps(home: Path) -> None:
    """Print our own time per step."""
    own: list[float] = []
    disk = [0.0]
    sync = os.fsync

    def timed(file: int) -> None:
        began = time.perf_counter()
        sync(file)
        disk[-1] += time.perf_counter() - began

    os.fsync = timed
    with session(home) as open_session:
        episode = open_session.episode("Count.")
        for _ in range(AT[-1] + AROUND):
            disk.append(0.0)
            began = time.perf_counter()
            episode.step()
            own.append(time.perf_counter() - began - disk[-1])
        episode.close()
    os.fsync = sync
    first, last = (_around(own, number) for number in AT)
    print(f"{'own time per step':<34} {'ms':>8}   wanted")
    print(f"{f'at step {AT[0]}':<34} {first:>8.2f}   ≤ 3")
    print(f"{f'at step {AT[1]}':<34} {last:>8.2f}   ≤ 3, and ≤ {1.5 * first:.2f}")
    print(f"{'waiting for the disk, beside it':<34} {_around(disk[1:], AT[1]):>8.2f}")


def _around(seconds: list[float], number: int) -> float:
    """The median of the steps around one, in milliseconds."""
    return statistics.median(seconds[number - 1 - AROUND : number + AROUND]) * 1000


def cli(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "codenav", *map(str, arguments)]


def kills(home: Path, times: int) -> None:
    """Print what is left of runs that were killed."""
    from tool_service import KEY, ToolService

    os.environ["SHOP_KEY"] = KEY
    readable = resumable = whole = 0
    with ToolService() as service:
        on = f"openapi:{service.write(home)}"
        common = ["--on", on, "--secret", "shop_key=SHOP_KEY", "--allow", "write", "--sandbox", "bubblewrap", *CHECKS]
        rest = home / "rest.actions"
        rest.write_text(ACTION.format("code", "print(1)") + ACTION.format("done", "1"))
        span = 0.0
        for number in range(times + 1):
            script = home / "orders.actions"
            script.write_text("".join(_orders(number)) + ACTION.format("done", "ordered"))
            before = {path.parent for path in _records()}
            process = subprocess.Popen(
                cli("run", "Order.", *common, "--model", f"scripted:{script}"), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            while not (made := {path.parent for path in _records()} - before):
                time.sleep(0.002)
            began = time.monotonic()
            if number == 0:
                process.wait()
                span = time.monotonic() - began
                continue
            time.sleep(random.uniform(0, span))
            process.send_signal(signal.SIGKILL)
            whole += process.wait() == 0
            id = made.pop().name
            if subprocess.run(cli("episodes", "show", id), capture_output=True).returncode:
                print("unreadable:", id)
                continue
            readable += 1
            gone_on = subprocess.run(
                cli("resume", id, *common[2:], "--model", f"scripted:{rest}"), capture_output=True, text=True
            )
            resumable += gone_on.returncode == 0
            if gone_on.returncode:
                print(id, gone_on.stderr)
        sent = Counter(bytes(seen.body) for seen in service.writes)
    twice = sum(count > 1 for count in sent.values())
    print(f"{f'kill -9 at {times} moments':<34} {'count':>8}   wanted")
    print(f"{'over before they were killed':<34} {whole:>8}")
    print(f"{'readable':<34} {readable:>8}   {times}")
    print(f"{'resumable':<34} {resumable:>8}   {times}")
    print(f"{'writes sent':<34} {len(service.writes):>8}")
    print(f"{'tools written to twice':<34} {twice:>8}   0")


def _records() -> list[Path]:
    """The records with a first line."""
    return [path for path in episodes_dir().glob("*/events.jsonl") if path.stat().st_size]


def _orders(number: int) -> list[str]:
    """The steps of a run, each with an order that no other run or step makes."""
    return [
        ACTION.format(
            "code",
            "from tools.shop import create_order\n"
            f"x{step} = create_order(customer=7, lines=[{{'product': {step + 1}, 'quantity': {number + 1}}}])",
        )
        for step in range(3)
    ]


def records(home: Path, count: int) -> None:
    """Print the time of commands that read a store of many records."""
    sync, os.fsync = os.fsync, lambda file: None
    with session(home) as open_session:
        for _ in range(count):
            episode = open_session.episode("Which field has the most acres?")
            for _ in range(20):
                episode.step()
            episode.close()
            open_session._episodes.clear()
    os.fsync = sync
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import codenav": [sys.executable, "-c", "import codenav"],
        "codenav --help": cli("--help"),
        "codenav episodes list": cli("episodes", "list"),
        "codenav episodes show last": cli("episodes", "show", "last"),
        "codenav episodes list --limit 0": cli("episodes", "list", "--limit", "0"),
    }
    print(f"{f'{count} records of 20 steps':<34} {'s':>8} {'of it CPU':>10}   wanted")
    for name, command in commands.items():
        run(command)
        cost = repeated(lambda command=command: run(command), 5)
        print(f"{name:<34} {cost.wall:>8.2f} {cost.cpu:>10.2f}   {'≤ 0.4' if name in COMMANDS else ''}")


def main() -> None:
    """Print the tables of the parts that were asked for, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["steps", "kills", "records", []], help="default: all")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--count", type=int, default=1000)
    asked = parser.parse_args()
    parts: dict[str, Callable[[Path], None]] = {
        "steps": steps,
        "kills": lambda home: kills(home, asked.times),
        "records": lambda home: records(home, asked.count),
    }
    print(machine())
    for name in asked.parts or parts:
        with tempfile.TemporaryDirectory(prefix="codenav-loop-") as folder:
            os.environ["CODENAV_HOME"] = f"{folder}/home"
            # As after an installation: modules are compiled once.
            os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            print()
            parts[name](Path(folder))


if __name__ == "__main__":
    main()
