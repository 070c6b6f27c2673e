"""Calls that are made again and graded, in a sandbox that no agent sees; and the self-check of expected calls."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import Execution
from codenav.core.options import SandboxOptions
from codenav.core.protocols import Sandbox
from codenav.evals.api_bank.code_base import RECORDED
from codenav.evals.api_bank.inside import SAMPLE
from codenav.evals.scores import match
from codenav.evals.task import Check, Sample
from codenav.session.api import sandbox

GRADED = "eval.graded"
CALLED = "eval.called"
SECONDS = 30.0
"""For the calls of one sample. What takes longer (an argument that makes an API hang) is not accepted."""


class Replays:
    """Replays in one sandbox, one at a time, from any thread. The sandbox starts with the first."""

    def __init__(
        self,
        code_base: Path,
        *,
        python: str | Path | None = None,
        backend: str = "",
        image: str = "",
        seconds: float = SECONDS,
    ) -> None:
        """`code_base` is the adapted one, `python` its interpreter, `backend` and `image` are of `SandboxOptions`."""
        self._code_base, self._seconds = code_base, seconds
        self._options = SandboxOptions(backend, python=python, image=image, calls=self._take)
        self._lock = threading.Lock()
        self._box: Sandbox | None = None
        self._verdicts: dict[str, Any] | None = None
        self._called: list[str] = []

    def grade(
        self, sample: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], gold: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Make calls again from the state of a sample, and return `inside_grading.grade`.

        Raises:
            SandboxUnavailable: no sandbox starts.
        """
        data = json.dumps([dict(sample), [*map(dict, calls)], [*map(dict, gold)]])
        code = f"import json as _json\ncall_host({GRADED!r}, **grade(*_json.loads({data!r})))"
        with self._lock:
            self._verdicts = None
            found = self._ran(code)
            if self._verdicts is None:
                # State is rebuilt after a timeout or a kill, but a fresh sandbox is surer.
                self._close()
                lost = {"accepted": False, "cause": f"the replay ended with {found.outcome}"}
                return {"ours": [lost] * len(gold), "upstream": [lost] * len(gold)}
            return self._verdicts

    def call_names(self, sample: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> list[str]:
        """Make calls as an agent would, and return the names of the APIs that the trace has.

        Raises:
            SandboxUnavailable: no sandbox starts.
        """
        data = json.dumps([dict(sample), [[call["name"], call["arguments"]] for call in calls]])
        with self._lock:
            self._called = []
            self._ran(f"make_calls(*__import__('json').loads({data!r}))")
            return list(self._called)

    def close(self) -> None:
        """End the sandbox. The next replay starts another."""
        with self._lock:
            self._close()

    def _ran(self, code: str) -> Execution:
        try:
            return self._open().run(code, timeout=self._seconds)
        except SandboxUnavailable:
            # The next replay starts another.
            self._close()
            raise

    def _open(self) -> Sandbox:
        if self._box is None:
            box = sandbox(self._options, on=[self._code_base])
            source = Path(__file__).with_name("inside_grading.py").read_text(encoding="utf-8")
            begun = box.run(source, timeout=SECONDS)
            if begun.outcome != "ok":
                box.close()
                raise SandboxUnavailable(
                    f"the APIs cannot be imported in the sandbox: {begun.error}",
                    hint="codenav eval prepare api-bank --data DIR --out DIR, and --prepared DIR",
                )
            self._box = box
        return self._box

    def _close(self) -> None:
        box, self._box = self._box, None
        if box is not None:
            box.close()

    def _take(self, name: str, arguments: dict[str, Any]) -> None:
        if name == GRADED:
            self._verdicts = arguments
        elif name == CALLED:
            self._called.append(str(arguments.get("name")))


NETWORK = "needs the network"
RENAMED = "has an argument that was renamed upstream after the recording"
GRADER = "upstream's grader reads a field that is not there"
DATA = "the shipped data differs from the recording"

CAUSES = "causes of the others"
KNOWN: Mapping[str, Any] = {
    "samples": 186,
    "expected calls": 220,
    "earlier calls": 113,
    "expected calls that the APIs' own graders accept": 200,
    CAUSES: {NETWORK: 7, RENAMED: 8, GRADER: 1, DATA: 4},
    "accepted by upstream's recipe": 181,
}
"""Figures of the pinned commit, with recorded answers off."""


def cause_of(api: str, message: str) -> str:
    """The cause for which an expected call is refused, from the message of its replay."""
    if api in RECORDED:
        return NETWORK
    if "unexpected keyword argument" in message:
        return RENAMED
    return GRADER if message.startswith("the grader failed: KeyError") else DATA


def checks(samples: Sequence[Sample], replays: Replays, *, known: bool) -> list[Check]:
    """Compare what a checkout yields with what is `known` of it: of another commit only what must hold."""
    traced = [replays.call_names(state_of(sample), sample.gold) for sample in samples]
    exact = [
        match(made, [call["name"] for call in one.gold]).f1 == 1.0 for made, one in zip(traced, samples, strict=True)
    ]
    whole = [replays.grade(state_of(sample), sample.gold, sample.gold) for sample in samples]
    bare = [{**state_of(sample), "without_recordings": True} for sample in samples]
    plain = [replays.grade(state, sample.gold, sample.gold) for state, sample in zip(bare, samples, strict=True)]
    earlier = [verdict for sample in samples for verdict in _earlier(sample, replays)]
    refused = [
        (sample, call["name"], cause_of(call["name"], verdict["cause"]))
        for sample, found in zip(samples, plain, strict=True)
        for call, verdict in zip(sample.gold, found["ours"], strict=True)
        if not verdict["accepted"]
    ]
    causes = dict(Counter(cause for _, _, cause in refused))
    accepted = sum(_accepted(found["ours"]) for found in plain)
    found = {
        "samples": len(samples),
        "expected calls": sum(len(sample.gold) for sample in samples),
        "earlier calls": len(earlier),
        "earlier calls that the APIs accept": _accepted(earlier),
        "expected calls that the APIs' own graders accept": accepted,
        CAUSES: causes,
        "accepted with recorded answers": sum(_accepted(found["ours"]) for found in whole),
        "accepted by upstream's recipe": sum(_accepted(found["upstream"]) for found in plain),
        "samples with F1 = 100 by name": sum(exact),
    }
    expected = {
        **found,
        **(KNOWN if known else {}),
        "earlier calls that the APIs accept": len(earlier),
        "accepted with recorded answers": accepted + causes.get(NETWORK, 0),
        "samples with F1 = 100 by name": len(samples),
    }
    lines = "\n".join(f"{sample.id} ({sample.facts['file']}): {name}: {cause}" for sample, name, cause in refused)
    return [Check(name, expected[name], value, lines if name == CAUSES else "") for name, value in found.items()]


def _earlier(sample: Sample, replays: Replays) -> Sequence[Mapping[str, Any]]:
    state = state_of(sample)
    calls = state.pop("earlier")
    verdicts: Sequence[Mapping[str, Any]] = replays.grade(state, calls, calls)["ours"] if calls else ()
    return verdicts


def state_of(sample: Sample) -> dict[str, Any]:
    """The state in which a sample begins, as its work folder holds it."""
    state: dict[str, Any] = json.loads(sample.files[SAMPLE])
    return state


def _accepted(verdicts: Sequence[Mapping[str, Any]]) -> int:
    return sum(bool(verdict["accepted"]) for verdict in verdicts)
