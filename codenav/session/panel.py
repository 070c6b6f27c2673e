"""The judges of an answer, before it ends the episode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from codenav.agents.judge import FAIL, PASS, UNREADABLE, Judge, Shown, Verdict, log_of
from codenav.agents.models import ChatModel, open_model
from codenav.core.actions import Step
from codenav.core.cancelling import current_scope
from codenav.core.errors import Cancelled, CodeNavError, ModelFailed, ModelUnreachable
from codenav.core.events import Vote
from codenav.core.messages import Message, Sampling
from codenav.core.options import ModelOptions
from codenav.core.protocols import Model
from codenav.core.review import ReviewOptions
from codenav.core.system.parallel import in_threads
from codenav.core.system.terminal_text import flattened, shortened
from codenav.core.usage import Usage
from codenav.episodes.verify import last_summary, script_from_steps
from codenav.session.questions import Questions

ROUNDS = 2
"""Times that an answer is sent back."""
LONGEST = 120.0
"""Most seconds for one verdict."""
WARM = 0.8
"""Temperature of a model that judges again, with another seed each time, so that its opinions may differ."""
REASON = 1000
"""Most characters of a reason."""
SHORT = Sampling(max_tokens=8)
"""Sampling of an answer that only tells if a server has a model that it does not list."""
NONE = "none"
"""The word of a judge that could not be asked."""


@dataclass
class Panel:
    """The judges of one episode. See `protocols.Reviewer`."""

    judges: Sequence[tuple[str, Model, Sampling | None]]
    """Each with its name and the way in which it draws its verdict."""
    least: int
    """Judges that have to accept an answer."""
    notice: Callable[[str], None]
    questions: Questions = field(default_factory=Questions)
    """Those of the episode, with its requests, and the steps that ran before in the same sandbox."""
    spend: Callable[[str, Usage], None] = lambda model, usage: None
    """Called with the name of a model and the cost of its verdict."""
    verdict: str = field(default="unjudged", init=False)
    votes: Sequence[Vote] = field(default=(), init=False)
    _rounds: int = field(default=0, init=False)

    def review(self, answer: str, steps: Sequence[Step], *, timeout: float | None = None) -> str:
        """Ask all judges at the same time. See `protocols.Reviewer`."""
        self.verdict, self.votes, self._rounds = "unjudged", (), self._rounds + 1
        sent = last_summary(steps)
        script = sent.code if sent else script_from_steps([*self.questions.earlier, *steps])
        log = log_of((step.action.type, step.action.content, step.observation.text) for step in steps)
        seconds, scope = LONGEST if timeout is None else min(timeout, LONGEST), current_scope()

        def judged(place: int) -> tuple[int, Verdict]:
            _, model, sampling = self.judges[place]
            with scope.entered():
                try:
                    judge = Judge(model, timeout=seconds, sampling=sampling)
                    return place, judge.passes(self.questions.text, Shown(answer, log, script))
                except Cancelled:
                    raise
                except CodeNavError as error:
                    return place, Verdict(NONE, str(error), error.partial.usage if error.partial else Usage())

        votes = {}
        with in_threads(judged, range(len(self.judges)), len(self.judges), scope.cancel) as verdicts:
            for place, verdict in verdicts:
                name, model, _ = self.judges[place]
                self.spend(model.name, verdict.usage)
                votes[place] = Vote(name, verdict.word, shortened(verdict.reason, REASON))
        self.votes = [vote for _, vote in sorted(votes.items())]
        return self._fault()

    def _fault(self) -> str:
        """Count the votes. Return what the agent is told where they refuse its answer and it may still go on."""
        why = {vote.judge: vote.reason for vote in self.votes if vote.word == NONE}
        why |= {vote.judge: "it says neither pass nor fail" for vote in self.votes if vote.word == UNREADABLE}
        # Told once, though it may be so in each round.
        for name, reason in why.items() if self._rounds == 1 else ():
            self.notice(f"the judge {name} has no vote: {reason}")
        failed = [vote.reason for vote in self.votes if vote.word == FAIL]
        passed = sum(vote.word == PASS for vote in self.votes)
        if passed >= self.least:
            self.verdict = "accepted"
        elif passed + len(failed) >= self.least:
            self.verdict = "refused"
        if self.verdict != "refused" or self._rounds > ROUNDS:
            return ""
        reasons = dict.fromkeys(f"- {flattened(reason, REASON) or '(no reason)'}" for reason in failed)
        told = f"{passed} of {len(self.votes)} judges accept this answer, and {self.least} have to."
        return "\n".join([told, "The others say:", *reasons, "Mend what they are right about, then answer again."])


def open_panel(
    options: ReviewOptions, own: ModelOptions, opening: ExitStack, notice: Callable[[str], None]
) -> Panel | None:
    """Open the judges beside a model with options of its own; None without any. `opening` closes their models.

    Raises:
        UsageError: raised by `ReviewOptions.checked`.
        ModelRefused: a server does not have the model of a judge, or refuses its key.
        ModelNotConfigured, NotFound, Unavailable: for the reasons of `open_model`.
    """
    given, least = options.checked()
    judges = []
    for number, model in enumerate(given):
        name, again = model if isinstance(model, str) else model.name, given[:number].count(model)
        if isinstance(model, str):
            # One client for each, since a script has one order of answers.
            beside = own.model if isinstance(own.model, str) else ""
            model = open_model(model, base_url=own.base_url, notice=notice, beside=beside)
            opening.callback(model.close)
            if isinstance(model, ChatModel) and not again:
                # A server that does not answer now has no vote later.
                with suppress(ModelUnreachable, ModelFailed):
                    if model.name not in model.listed():
                        model.complete([Message("user", "Answer: ready")], timeout=10.0, sampling=SHORT)
        judges.append((name, model, Sampling(WARM, again) if again else None))
    return Panel(judges, least, notice) if judges else None
