"""The agent: code that failed is drawn anew, within the time of the turn."""

from __future__ import annotations

import time
import types
from collections.abc import Sequence

from codenav.agents import CodeNavAgent
from codenav.agents.models import ScriptedModel
from codenav.core.actions import Code, CodeObservation, Step
from codenav.core.execution import Execution, Outcome
from codenav.core.messages import Completion, Message, Sampling
from codenav.environments import CodeEnvironment


class Idle:
    """A sandbox in which nothing runs."""

    info = types.SimpleNamespace(python_version="3.12.1", work_dir="/work", network="none")

    def variables(self) -> dict[str, str]:
        return {}


class Slow(ScriptedModel):
    """A model that takes a while, and remembers the time that it was given."""

    given: Sequence[float | None] = ()

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        self.given = [*self.given, timeout]
        time.sleep(0.2)
        return super().complete(messages, timeout=timeout, sampling=sampling)


def test_code_that_failed_is_drawn_anew_in_what_is_left_of_the_time() -> None:
    failed = Step(1, Code("1 / 0"), CodeObservation("", execution=Execution(Outcome.ERROR)))
    model = Slow([Code("1 / 0"), Code("1 / 1")])
    agent = CodeNavAgent(model)
    agent.brief("Divide.", description="", environments=[CodeEnvironment(Idle())])  # type: ignore[arg-type]
    assert agent.act([failed], timeout=10.0).action.content == "1 / 1"
    first, second = model.given
    assert 9.9 < first <= 10.0 and second is not None and second < 9.9
