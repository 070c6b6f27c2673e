"""The three benchmarks with a real language model that is too small for them, behind its own HTTP server.

    python benchmarks/evals_small_model.py CHECKOUTS [--tasks FILE] [--prepared DIR] [--samples 10] [--steps 3] [NAME…]

CHECKOUTS holds `code-act`, `DAMO-ConvAI` and `mnms`; FILE is a task file of m&m's, DIR the environment of API-Bank.
The scores say nothing about agents. The bars: no attempt ends as `error`, the tokens of the results are those that the
server reported, and the seconds of the results fit into those of the run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav import evals
from codenav.agents.models import ChatModel
from codenav.core.errors import CodeNavError, ContextOverflow
from codenav.core.limits import Limits
from codenav.core.messages import Completion, Message, Sampling
from codenav.evals.benchmark import make

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

FOLDERS = {"m3tooleval": "code-act", "api-bank": "DAMO-ConvAI", "mnms": "mnms"}


@dataclass
class Counted:
    """A model that counts for itself what its server reports."""

    model: ChatModel
    requests: int = 0
    asked: int = 0
    written: int = 0
    overflows: int = 0

    @property
    def name(self) -> str:
        """Of the model."""
        return self.model.name

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        """Ask the model. A cut-off answer has cost its tokens too."""
        self.requests += 1
        try:
            completion = self.model.complete(messages, timeout=timeout, sampling=sampling)
        except CodeNavError as error:
            self.overflows += isinstance(error, ContextOverflow)
            self._add(error.partial)
            raise
        self._add(completion)
        return completion

    def close(self) -> None:
        """Leave the connection open: the model is shared by all attempts."""

    def _add(self, completion: Completion | None) -> None:
        self.asked += completion.usage.input_tokens if completion else 0
        self.written += completion.usage.output_tokens if completion else 0


def measured(task: Any, mode: str, url: str, name: str, chosen: argparse.Namespace, out: Path) -> tuple[str, list[str]]:
    """Run one benchmark in one mode. Return the row of the table, and what is wrong."""
    model = Counted(ChatModel(name, base_url=url, max_tokens=chosen.max_tokens))
    began = time.monotonic()
    run = evals.run(
        task,
        out=out,
        mode=mode,
        model=model,
        limit=chosen.samples,
        limits=Limits(steps=chosen.steps, seconds=chosen.seconds),
        checks_lint=False,
        checks_types=False,
    )
    wall = time.monotonic() - began
    model.model.close()
    results = run.results
    ends = Counter("wrong" if one.status == "done" and not one.scores.get("correct") else one.status for one in results)
    asked, written = sum(one.prompt_tokens for one in results), sum(one.completion_tokens for one in results)
    seconds = sum(one.seconds for one in results)
    row = (
        f"{task.name:<11}{mode:<9}{len(results):>8}{ends['wrong']:>6}{ends['done']:>6}{ends['failed']:>7}"
        f"{ends['limit']:>6}{ends['error']:>6}{sum(one.steps for one in results):>6}{asked:>9}{written:>8}"
        f"{model.overflows:>10}{seconds:>9.0f}{wall:>7.0f}"
    )
    wrong = []
    if ends["error"] or run.missing:
        wrong.append(f"{ends['error']} errors: {next((one.reason for one in results if one.status == 'error'), '')}")
    if (asked, written) != (model.asked, model.written):
        wrong.append(f"the server reported {model.asked} and {model.written} tokens")
    if not 0 < seconds <= wall:
        wrong.append("the seconds do not fit into the run's")
    return row, [f"{task.name} {mode}: {one}" for one in wrong]


def main() -> int:
    """Print the table; 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("names", nargs="*", default=list(FOLDERS))
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--prepared", type=Path)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120.0, help="of one sample")
    parser.add_argument("--max-tokens", type=int, default=160, help="of one answer")
    parser.add_argument("--modes", default="code-use,tool-use")
    parser.add_argument("--context", default="8192", help="tokens")
    chosen = parser.parse_args()
    # Imported here, after the path was set; it needs pytest.
    from local_model import serving

    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, serving("--context", chosen.context) as served:
        os.environ["CODENAV_HOME"] = folder
        print(
            f"{'benchmark':<11}{'mode':<9}{'samples':>8}{'wrong':>6}{'right':>6}{'failed':>7}{'limit':>6}{'error':>6}"
            f"{'steps':>6}{'read':>9}{'written':>8}{'overflows':>10}{'seconds':>9}{'wall':>7}",
            flush=True,
        )
        for name in chosen.names:
            own: dict[str, Any] = {"mnms": {"tasks": chosen.tasks, "stub_tools": True}}
            own["api-bank"] = {"prepared": chosen.prepared}
            task = make(name, chosen.checkouts / FOLDERS[name], own.get(name))
            for mode in chosen.modes.split(","):
                row, wrong = measured(task, mode, served.url, served.name, chosen, Path(folder) / f"{name}-{mode}")
                print(row, flush=True)
                faults += wrong
    print("\n".join(faults) or "no bar was missed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
