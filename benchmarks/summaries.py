"""Right and wrong summaries and answers, through the real loop and bubblewrap: which are verified and supported.

    python benchmarks/summaries.py [--half first_half|second_half] [--only WORDS]

The cases are in `tests/episodes/summaries`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.agents import CodeNavAgent
from codenav.agents.models.scripted import ScriptedModel
from codenav.core.actions import Action, Code, CodeSummary, Done, Summary
from codenav.core.execution import Mount, Ran
from codenav.core.options import SandboxOptions
from codenav.environments import CodeEnvironment, CodeSummaryEnvironment, DoneEnvironment
from codenav.episodes.objects import Objects
from codenav.session.episode import Episode
from codenav.session.replaying import Beginning, Replay
from codenav.session.sandbox_factory import SandboxFactory

CASES = Path(__file__).resolve().parent.parent / "tests" / "episodes" / "summaries"
HALVES = ("first_half", "second_half")
MOST_WRONG, MOST_REFUSED = 1, 2
"""The bars: wrong ones that pass, right ones that do not."""


@dataclass(frozen=True)
class Result:
    """The result of a case."""

    name: str
    wrong: str
    """`summary`, `answer`, or empty if both are right."""
    summary: Summary
    answer: str

    @property
    def passed(self) -> bool:
        """True if the summary is verified and, where the answer matters, the answer is supported."""
        return self.summary.verified and not (self.wrong != "summary" and self.summary.answer_supported is False)

    @property
    def as_it_should(self) -> bool:
        """True if a right one passed or a wrong one did not."""
        return self.passed != bool(self.wrong)


def cases(half: str) -> list[dict[str, Any]]:
    """The cases of a half, as written in its file."""
    return list(tomllib.loads((CASES / f"{half}.toml").read_text(encoding="utf-8"))["case"])


def run(case: dict[str, Any], folder: Path, *, nobody: bool = False) -> Result:
    """Play the steps, the summary and the answer of a case as an episode.

    `nobody`: give the mounted folder to the user that the sandbox runs as when root starts it.
    """
    work, mount, kept = (folder / name for name in ("work", "mount", "kept"))
    for at, files in ((work, case.get("inputs", {})), (mount, case.get("mount", {}))):
        at.mkdir(parents=True)
        for name, text in files.items():
            (at / name).write_text(text, encoding="utf-8")
    kept.mkdir()
    if nobody:
        for path in (mount, *mount.iterdir()):
            os.chown(path, 65534, 65534)
    mounts = [Mount(mount, writable=True)] if "mount" in case else []
    factory = SandboxFactory.of(SandboxOptions("bubblewrap", mounts=mounts, python=sys.executable))
    beginning = Beginning.keep(work, kept, factory, Objects(folder / "objects"))
    ran: list[Ran] = []
    sandbox = factory.start(work)
    try:
        replay = Replay(sandbox, factory, beginning, ran, case["request"])

        def code(text: str) -> str:
            return text.replace("MOUNT", repr(str(mount)))

        actions: list[Action] = [Code(code(step)) for step in case["steps"]]
        if "script" in case:
            actions.append(CodeSummary(code(case["script"])))
        episode = Episode(
            case["request"],
            agent=CodeNavAgent(ScriptedModel([*actions, Done(case["answer"])])),
            environments=[
                CodeEnvironment(sandbox, ran=ran.append),
                CodeSummaryEnvironment(replay),
                DoneEnvironment(),
            ],
            verify=replay,
        )
        ended = episode.run()
    finally:
        sandbox.close()
    return Result(case["name"], case.get("wrong", ""), ended.summary, ended.answer)


def run_all(cases: Sequence[dict[str, Any]]) -> list[Result]:
    """Play cases, some of them at the same time."""

    def play(case: dict[str, Any]) -> Result:
        with tempfile.TemporaryDirectory() as folder:
            return run(case, Path(folder), nobody=os.geteuid() == 0)

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(play, cases))


def figures(results: Iterable[Result]) -> tuple[int, int]:
    """The numbers of wrong ones that passed and of right ones that were refused."""
    results = list(results)
    passed = sum(one.passed for one in results if one.wrong)
    return passed, sum(not one.passed for one in results if not one.wrong)


def main() -> int:
    """Print a line per case and the two figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    results = []
    for half in [options.half] if options.half else HALVES:
        for result in run_all([case for case in cases(half) if options.only in case["name"]]):
            results.append(result)
            lacking = f"; unsupported: {', '.join(result.summary.unsupported)}" if result.summary.unsupported else ""
            mark = "   " if result.as_it_should else "!! "
            kind = f"wrong {result.wrong}" if result.wrong else "right"
            print(f"{mark}{kind:14} {result.name:60} {result.summary.told}{lacking}")
    passed, refused = figures(results)
    wrong = sum(bool(one.wrong) for one in results)
    print(f"{wrong} wrong: {passed} passed; {len(results) - wrong} right: {refused} refused")
    return int(passed > MOST_WRONG or refused > MOST_REFUSED)


if __name__ == "__main__":
    sys.exit(main())
