"""The conclusion of an episode: its code summary, replayed, and the answer compared with what the replay gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codenav.core.actions import Step, Summary, SummaryObservation
from codenav.core.execution import Verdict
from codenav.core.protocols import Verifier
from codenav.core.system.bounded import OutOfTime, within
from codenav.episodes.supported import unsupported
from codenav.episodes.verify import last_summary, script_from_steps
from codenav.session.questions import answered

ANSWER_SECONDS = 10.0
"""Time to look for the numbers and names of an answer in what its summary gave."""


@dataclass(frozen=True)
class Conclusion:
    """The parts that make the summary of an episode."""

    request: str
    known: Sequence[str] = ()
    """Names and versions of the sources, which an answer may mention."""
    earlier: Sequence[Step] = ()
    """Steps that ran before in the same sandbox: a summary made of steps begins with them."""
    verify: Verifier | None = None
    """Replays a summary. Without it no summary is ever marked verified."""

    def script(self, steps: Sequence[Step]) -> str:
        """The successful steps as one script, empty if there are none."""
        return script_from_steps([*self.earlier, *steps])

    def kept(self, steps: Sequence[Step], reason: str) -> Summary:
        """The summary of an episode that ended without an answer: the code that ran, and no claim about it."""
        return last_summary(steps) or Summary(reason=reason, code=self.script(steps))

    def summary(self, steps: Sequence[Step], answer: str, timeout: float | None) -> Summary:
        """Return the agent's last code summary, else the successful steps, replayed and compared with the answer."""
        observations = (step.observation for step in reversed(steps))
        sent = next((one for one in observations if isinstance(one, SummaryObservation)), None)
        code, verdict = (sent.code, sent.verdict) if sent else (self.script(steps), None)
        if verdict is None and not code:
            return Summary(reason="no step of code ended ok")
        if verdict is None and self.verify is None:
            return Summary(reason="there was nothing to replay it in", code=code)
        if verdict is None and self.verify is not None:
            verdict = self.verify(code, timeout=timeout)
        assert verdict is not None
        request = "\n".join([self.request, *answered(steps).values()])
        return self._compared(Summary.of(code, verdict), answer, verdict, request)

    def _compared(self, summary: Summary, answer: str, verdict: Verdict, request: str) -> Summary:
        replayed = verdict.replayed
        if not answer or not verdict.verified or replayed is None:
            return summary
        try:
            lacking = within(
                ANSWER_SECONDS,
                lambda: unsupported(answer, replayed, script=summary.code, request=request, known=self.known),
            )
        except OutOfTime:
            return replace(summary, reason=f"the answer was not compared: it took over {ANSWER_SECONDS:g} seconds")
        return replace(summary, answer_supported=not lacking, unsupported=tuple(lacking))
