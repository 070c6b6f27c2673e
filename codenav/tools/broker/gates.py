"""Gates: the decision on each call, by the options `--allow` and `--approve`."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from codenav.core.approval import Approver, Question, answer_of
from codenav.core.system.terminal_text import flattened, neutral
from codenav.tools.broker.arguments import without_content
from codenav.tools.broker.flights import Refused
from codenav.tools.model import Effect

DRY_RUN = "dry-run"
_ALLOWED = {
    "read": (Effect.READ,),
    "write": (Effect.READ, Effect.WRITE),
    "all": (Effect.READ, Effect.WRITE, Effect.DESTROY),
    "ask": (Effect.READ,),
    DRY_RUN: (Effect.READ,),
}
_WORDS = {Effect.READ: "a read", Effect.WRITE: "a write", Effect.DESTROY: "one that may delete"}
_MAY = {"read": "read", "write": "read and write"}
_OPTION = {Effect.WRITE: "write", Effect.DESTROY: "all"}
MOST_SHOWN = 2000
"""Characters of a call that a person is asked about."""


class Gate:
    """The decision on each call of a run. Questions are asked one at a time, while the call waits."""

    def __init__(self, allow: str, confirm: Approver | None, *, asks: bool = False) -> None:
        """`asks`: each call that does more than read is asked about, also where `allow` lets it pass."""
        self._allow, self._confirm = allow or "read", confirm
        self._asks = asks or self._allow == "ask"
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Begin a run: calls are counted anew, and no approval is left."""
        self._passed: Counter[str] = Counter()
        self._left: dict[str, float] = {}
        """Calls that an approval still holds for, by tool."""

    def check(self, tool: str, effect: Effect, arguments: Mapping[str, Any]) -> bool:
        """Let a call pass. False if it is not to be sent but answered as in a dry run.

        Raises:
            Refused: it may not be made; the message names the option that would allow it.
        """
        if effect is not Effect.READ and self._allow == DRY_RUN:
            return False
        if effect is not Effect.READ and self._asks:
            with self._lock:
                self._ask(tool, effect, arguments)
        elif effect not in _ALLOWED[self._allow]:
            option = f"the option --allow {_OPTION[effect]} allows it"
            raise Refused(f"{tool} is {_WORDS[effect]}: this run may only {_MAY[self._allow]}; {option}")
        self._passed[tool] += 1
        return True

    def _ask(self, tool: str, effect: Effect, arguments: Mapping[str, Any]) -> None:
        several = any(isinstance(value, list) for value in arguments.values())
        if not several and self._left.get(tool, 0) > 0:
            self._left[tool] -= 1
            return
        if self._confirm is None:
            option = f"the option --allow {_OPTION[effect]} allows it"
            raise Refused(f"{tool} is {_WORDS[effect]}, and there is no terminal to ask on; {option}")
        plain = without_content(dict(arguments))
        shown = ", ".join(f"{name}={value!r}" for name, value in plain.items())
        if len(shown) > MOST_SHOWN:
            shown = f"{shown[:MOST_SHOWN]}… {len(shown) - MOST_SHOWN} more characters"
        text = f"Let the code call {tool}({flattened(neutral(shown), MOST_SHOWN + 100)})?"
        question = Question(text, "call", tool=tool, arguments=plain, earlier=self._passed[tool])
        answer = answer_of(self._confirm, question)
        if not answer.allowed:
            why = f": {flattened(neutral(answer.reason), MOST_SHOWN)}" if answer.reason else ""
            raise Refused(f"the person did not allow {tool}{why}; do without it, or ask for something else")
        self._left[tool] = float("inf") if answer.calls is None else max(answer.calls - 1, 0)
