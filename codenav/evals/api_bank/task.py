"""The task API-Bank: samples from a checkout of DAMO-ConvAI, the adapted code base, and the scores of calls."""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from codenav.core.actions import Search
from codenav.core.errors import UsageError
from codenav.core.protocols import Environment
from codenav.environments import EpisodeParts, standard_environments
from codenav.evals.api_bank.code_base import Api, read_apis, write_code_base
from codenav.evals.api_bank.descriptions import described, guided
from codenav.evals.api_bank.dialogues import FOLDER, Dialogue, dialogues
from codenav.evals.api_bank.environment import FOLDER as ENVIRONMENT
from codenav.evals.api_bank.environment import make, prepared_python
from codenav.evals.api_bank.replays import Replays
from codenav.evals.api_bank.selfcheck import DATA, GRADER, KNOWN, RENAMED, checks, state_of
from codenav.evals.checkouts import checkout
from codenav.evals.scores import after_last_error, match, match_scores, mean_percent, summed
from codenav.evals.task import Attempt, Check, Column, Mode, Sample, Setting

COMMIT = "483554eae102996f5ec1f4feab4e78ef29c2a394"
"""Of DAMO-ConvAI; the figures of the self-check are known for it."""
NEEDS = ("apis/api.py", "init_database", FOLDER)

UNGRADABLE: Mapping[str, str] = {
    "CancelTimedSwitch": RENAMED,
    "DeleteMeeting": GRADER,
    "QueryScene": DATA,
    "TimedSwitch": RENAMED,
}
"""APIs whose grader refuses every expected call of the known commit, and the cause: 13 calls, which no agent can make
so that they are accepted. They count by name, not in the columns `accepted` and `upstream`."""


class ApiBank:
    """Dialogues whose last request is answered with calls of 52 APIs; the names of the called APIs are scored."""

    name = "api-bank"
    columns: Sequence[Column] = (
        Column("precision", "calls of expected APIs among all, mean over samples, in %", "P"),
        Column("recall", "expected calls that were made, mean over samples, in %", "R"),
        Column("f1", "harmonic mean of both for each sample, mean over samples, in %", "F1"),
        Column("f1_pooled", "F1 of all calls of all samples together, in %"),
        Column("late_f1", "f1 of the calls made after the last step that failed, in %"),
        Column("accepted", "gradable expected calls that upstream's graders accept in the sample's state, in %"),
        Column("upstream", "the same by upstream's recipe, faults included: each call alone, arguments as text, in %"),
    )

    def __init__(
        self,
        data: Path,
        *,
        any_commit: bool = False,
        description: str = "library",
        guidelines: str = "default",
        shows: str = "shorter",
        paths_only: bool = False,
        prepared: Path | None = None,
        python: str | Path | None = None,
        sandbox: str = "",
    ) -> None:
        """Read the dialogues from a checkout of DAMO-ConvAI, or from its folder `api-bank`.

        Args:
            data: the checkout.
            any_commit: take another commit than the known one.
            description: `none`, `names`, `descriptions`, `prototypes`, `library`, or the path of a file.
            guidelines: `default`, `none`, or the path of a file.
            shows: see `SearchEnvironment`; the runner passes it on.
            paths_only: refused; the paths of this code base are the names of its APIs.
            prepared: the folder that `prepare` made. None: the caller's Python, in which `SearchEngine` needs
                rank_bm25, numpy and nltk.
            python: the Python of which `prepare` makes the environment (None: the first that fits), and which replays
                calls where nothing is prepared.
            sandbox: backend of the sandbox that replays calls. Empty: that of the attempt, else the configured one.

        Raises:
            NotFound: a file is missing.
            UsageError: the commit is another one, or a file is not as expected.
        """
        if paths_only:
            raise UsageError("--paths-only is for m3tooleval", hint="--description names")
        found = checkout(data, needs=NEEDS, folder="api-bank", commit=COMMIT, any_commit=any_commit)
        self._root, self._commit = found.root, found.commit
        self._description, self._guidelines = description, guidelines
        self._python, self._backend = python, sandbox
        self._prepared = prepared_python(prepared) if prepared else None
        self._all = dialogues(found.root)
        self._graders: dict[tuple[str, str], Replays] = {}
        self._opening = threading.Lock()

    @cached_property
    def apis(self) -> Sequence[Api]:
        """The APIs as upstream describes them."""
        return read_apis(self._root)

    @property
    def dialogues(self) -> Sequence[Dialogue]:
        """The dialogues that are samples."""
        return [dialogue for dialogue in self._all if dialogue.gold]

    def samples(self) -> Sequence[Sample]:
        """The dialogues in which an API is called after the last message of the user; `gold` has those calls."""
        return self._samples

    @cached_property
    def _samples(self) -> list[Sample]:
        found = [dialogue.sample() for dialogue in self.dialogues]
        if not found:
            raise UsageError(f"no dialogue in {self._root / FOLDER} is a sample", hint="take a whole checkout")
        return found

    def write(self, out: Path, *, recordings: bool = True) -> Path:
        """Write the adapted code base into `out`. Without `recordings` no API has a recorded answer."""
        calls = [call for dialogue in self._all for call in [*dialogue.earlier, *dialogue.gold]]
        return write_code_base(self._root, out, calls=calls, recordings=recordings)

    def setting(self, mode: Mode, out: Path) -> Setting:
        """Write the package `apis` below `out`, and describe it."""
        folder = self.write(out / "code")
        text = described(self.apis, mode, self._description)
        return Setting(
            on=[folder],
            # An empty one would be replaced by codenav's own description of the code base.
            description="\n\n".join(part for part in (text, guided(self._guidelines)) if part) or "(no description)",
            python=self._prepared,
            environments=standard_environments if mode is Mode.CODE_USE else _without_search,
            facts={
                "commit": self._commit,
                "description": self._description if mode is Mode.CODE_USE else "all tools",
                "description_characters": len(text),
                "guidelines": self._guidelines,
                "environment": "prepared" if self._prepared else "the caller's",
            },
        )

    def prepare(self, out: Path, *, notice: Callable[[str], None]) -> None:
        """Make the environment of the APIs in `out`.

        Raises:
            NotFound, UsageError: the Python that was given does not fit.
            Unavailable: there is no fitting Python, or its packages cannot be installed.
        """
        out.mkdir(parents=True, exist_ok=True)
        make(out / ENVIRONMENT, python=self._python, notice=notice)

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """Compare the calls with the expected ones: by name, and by what upstream's graders say of them.

        `correct` is F1 = 100 by name: the expected APIs were called, each as often as expected, and no others.
        """
        gold = attempt.sample.gold
        expected = [call["name"] for call in gold]
        found = match([call.name for call in attempt.calls], expected)
        late = match([call.name for call in after_last_error(attempt.calls)], expected)
        made = [{"name": call.name, "arguments": call.arguments} for call in attempt.calls if call.name in expected]
        verdicts = self._grader(attempt).graded(state_of(attempt.sample), made, gold) if made else {}
        return {
            "correct": found.f1 == 1.0,
            **match_scores(found),
            **match_scores(late, "late_"),
            "gradable": sum(name not in UNGRADABLE for name in expected),
            **{key: _accepted(expected, verdicts.get(recipe, ())) for key, recipe in _RECIPES.items()},
        }

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The columns, in %."""
        gradable = [score for score in scores if score["gradable"]]
        shares = {key: mean_percent(score[key] / score["gradable"] for score in gradable) for key in _RECIPES}
        return {**summed(scores), **summed(scores, "late_"), **shares}

    def selfcheck(self, out: Path, *, notice: Callable[[str], None]) -> Sequence[Check]:
        """Make the expected calls, with and without recorded answers, and score them."""
        notice(f"making {sum(len(sample.gold) for sample in self.samples())} expected calls four times")
        bare, whole = self.write(out / "bare", recordings=False), self.write(out / "code")
        with self._replays(bare, self._backend) as plain, self._replays(whole, self._backend) as recorded:
            return checks(
                self.samples(),
                KNOWN if self._commit == COMMIT else None,
                made=lambda sample: recorded.traced(state_of(sample), sample.gold),
                bare=plain,
                recorded=recorded,
            )

    def _grader(self, attempt: Attempt) -> Replays:
        """The replays for an attempt, in a sandbox like its own."""
        info = attempt.result.sandbox
        backend, image = self._backend or str(info.get("backend") or ""), str(info.get("image") or "")
        with self._opening:
            if (backend, image) not in self._graders:
                # Beside no run folder: what is graded there must not be found by an agent.
                folder = tempfile.TemporaryDirectory(prefix="codenav-api-bank-")
                code = self.write(Path(folder.name) / "code")
                made = self._graders[backend, image] = self._replays(code, backend, image)
                weakref.finalize(self, _ended, made, folder)
            return self._graders[backend, image]

    def _replays(self, code: Path, backend: str, image: str = "") -> Replays:
        return Replays(code, python=self._prepared or self._python, backend=backend, image=image)


_RECIPES = {"accepted": "ours", "upstream": "upstream"}
"""Columns of graded calls, and the recipes of `Replays.graded`."""


def _accepted(expected: Sequence[str], verdicts: Sequence[Mapping[str, Any]]) -> int:
    pairs = zip(expected, verdicts, strict=False)
    return sum(bool(verdict["accepted"]) for name, verdict in pairs if name not in UNGRADABLE)


def _without_search(parts: EpisodeParts) -> list[Environment]:
    return [one for one in standard_environments(parts) if one.action is not Search]


def _ended(replays: Replays, folder: tempfile.TemporaryDirectory[str]) -> None:
    replays.close()
    folder.cleanup()
