"""The check of an answer against all that its session holds, before the answer ends an episode."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from codenav.core.actions import CodeObservation, Step
from codenav.core.errors import CodeNavError
from codenav.core.execution import FileEntry, Held, Replayed
from codenav.core.limits import Limits
from codenav.core.protocols import Sandbox
from codenav.core.system.bounded import OutOfTime, within
from codenav.episodes.supported import unsupported
from codenav.session.conclusion import ANSWER_SECONDS
from codenav.session.episode_facts import EpisodeFacts, names_of
from codenav.session.questions import Questions

FAULT = (
    "No output, variable or file holds {}.\nSo the answer is not accepted yet: compute what is missing, or correct it. "
    "If it is right as it stands, give it again. If the results do not suffice, begin it with FAILED: and say why."
)
CLAIM = re.compile(r"[\d\"'`“”„«»‘’「『]")
"""A digit or a quotation mark: without one an answer has nothing to be looked for."""
FILES, FILE_BYTES = 200, 256 << 10
"""Most files of the work folder that are read, and the size of the largest one."""
STEPS, SECONDS = 2, 60.0
"""What has to be left of an episode to send its answer back: a right one must not be lost at a limit."""


@dataclass
class Coverage:
    """A reviewer that sends an answer back, once, if nothing in the session holds its numbers and quoted names.

    It goes by the rules of the comparison with the replay (`episodes.supported`), to which names without quotes are
    left: which word is a name differs by language.
    """

    sandbox: Sandbox
    questions: Questions
    facts: EpisodeFacts
    limits: Limits
    mask: Callable[[Any], Any]
    """Masks secrets: a part of one is not to be asked for."""
    _spent: bool = field(default=False, init=False)

    def review(self, answer: str, steps: Sequence[Step], *, timeout: float | None = None) -> str:
        """Return what the agent is told, or an empty text. See `protocols.Reviewer`."""
        few = self.limits.steps and len(steps) + 1 + STEPS > self.limits.steps
        if self._spent or few or not CLAIM.search(answer) or (timeout is not None and timeout < SECONDS):
            return ""
        code, texts = list[str](), list[str]()
        for step in [*self.questions.earlier, *steps]:
            texts.append(step.observation.text)
            if isinstance(step.observation, CodeObservation):
                code.append(step.action.content)
                texts.append(step.observation.execution.stdout)
        held, files = Held(), list[FileEntry]()
        # Without the sandbox, what was shown decides.
        with suppress(CodeNavError):
            held = self.sandbox.digests()
            files = [one for one in self.sandbox.files.list(recursive=True) if one.kind == "file"]
            small = [one.name for one in files if one.size <= FILE_BYTES][:FILES]
            texts += [self.sandbox.files.read(name).decode("utf-8", "replace") for name in small]
        replayed = Replayed("", held, tuple(one.name for one in files))
        compare = partial(unsupported, request=self.questions.text, known=names_of(self.facts.sources), unmarked=False)
        try:
            lacking = within(
                ANSWER_SECONDS, lambda: compare(self.mask(answer), replayed, script="\n".join(code), outputs=texts)
            )
        except OutOfTime:
            return ""
        self._spent = bool(lacking)
        return FAULT.format(", ".join(lacking)) if lacking else ""
