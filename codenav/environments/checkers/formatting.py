"""The checker black: a step as black would write it. Runs in a process of its own (`serve.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codenav.environments.checkers.answers import Answer, Past


class Formatting:
    """`black.format_str` with black's defaults; it reads no configuration."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import black
        from black.parsing import InvalidInput

        self._format, self._mode = black.format_str, black.Mode()
        # The last two: an encoding comment that names none, and a lone surrogate.
        self._unreadable = (InvalidInput, SyntaxError, UnicodeError)
        self._format("x = 1\n", mode=self._mode)

    def check(self, code: str) -> Answer:
        """The answer on a step; `formatted` is set if black would change more than the newline at the end."""
        try:
            formatted = self._format(code, mode=self._mode)
        except self._unreadable as error:
            return Answer(failure=f"not formatted: {str(error).splitlines()[0]}"[:300])
        same = formatted.rstrip("\n") == code.rstrip("\n")
        return Answer(formatted=None if same else formatted)

    def remember(self, steps: Sequence[Past]) -> None:
        """Do nothing: the layout of a step does not depend on earlier ones."""
