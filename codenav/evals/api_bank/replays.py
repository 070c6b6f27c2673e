"""A sandbox of our own in which calls are made again and graded. It holds what no agent may see: expected calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import Execution
from codenav.core.options import SandboxOptions
from codenav.core.protocols import Sandbox
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

    def graded(
        self, sample: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], gold: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Make calls again from the state of a sample, and return `inside_grading.graded`.

        Raises:
            SandboxUnavailable: no sandbox starts.
        """
        data = json.dumps([dict(sample), [*map(dict, calls)], [*map(dict, gold)]])
        code = f"import json as _json\ncall_host({GRADED!r}, **graded(*_json.loads({data!r})))"
        with self._lock:
            self._verdicts = None
            found = self._ran(code)
            if self._verdicts is None:
                # State is rebuilt after a timeout or a kill, but a fresh sandbox is surer.
                self._close()
                lost = {"accepted": False, "equal": False, "cause": f"the replay ended with {found.outcome}"}
                return {"ours": [lost] * len(gold), "upstream": [lost] * len(gold)}
            return self._verdicts

    def traced(self, sample: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> list[str]:
        """Make calls as an agent would, and return the names of the APIs that the trace has.

        Raises:
            SandboxUnavailable: no sandbox starts.
        """
        data = json.dumps([dict(sample), [[call["name"], call["arguments"]] for call in calls]])
        with self._lock:
            self._called = []
            self._ran(f"made(*__import__('json').loads({data!r}))")
            return list(self._called)

    def close(self) -> None:
        """End the sandbox. The next replay starts another."""
        with self._lock:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

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
