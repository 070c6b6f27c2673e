"""Gates: what calls may do, by the option `--allow`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from codenav.core.system.terminal_text import flattened, neutral
from codenav.tools.broker.arguments import without_content
from codenav.tools.broker.flights import Refused
from codenav.tools.model import Effect

_ALLOWED = {
    "read": (Effect.READ,),
    "write": (Effect.READ, Effect.WRITE),
    "all": (Effect.READ, Effect.WRITE, Effect.DESTROY),
    "ask": (Effect.READ,),
}
_WORDS = {Effect.READ: "a read", Effect.WRITE: "a write", Effect.DESTROY: "one that may delete"}
_MAY = {"read": "read", "write": "read and write"}
_OPTION = {Effect.WRITE: "write", Effect.DESTROY: "all"}
MOST_SHOWN = 2000
"""Characters of a call that a person is asked about."""


class Gate:
    """The decision on each call. Questions are asked one at a time."""

    def __init__(self, allow: str, confirm: Callable[[str], bool] | None) -> None:
        self._allow, self._confirm = allow or "read", confirm
        self._lock = threading.Lock()

    def check(self, tool: str, effect: Effect, arguments: Mapping[str, Any]) -> None:
        """Let a call pass.

        Raises:
            Refused: it may not be made; the message names the option that would allow it.
        """
        if effect in _ALLOWED[self._allow]:
            return
        what = f"{tool} is {_WORDS[effect]}"
        option = f"the option --allow {_OPTION[effect]} allows it"
        if self._allow != "ask":
            raise Refused(f"{what}: this run may only {_MAY[self._allow]}; {option}")
        if self._confirm is None:
            raise Refused(f"{what}, and there is no terminal to ask on; {option}")
        shown = ", ".join(f"{name}={value!r}" for name, value in without_content(dict(arguments)).items())
        if len(shown) > MOST_SHOWN:
            shown = f"{shown[:MOST_SHOWN]}… {len(shown) - MOST_SHOWN} more characters"
        with self._lock:
            agreed = self._confirm(f"Let the code call {tool}({flattened(neutral(shown), MOST_SHOWN + 100)})?")
        if not agreed:
            raise Refused(f"the person at the terminal did not allow {tool}; do without it, or ask for something else")
