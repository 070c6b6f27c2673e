"""The votes of calls for callables as the interpreter describes them."""

from __future__ import annotations

from collections.abc import Sequence

from codenav.planner.calls import Result
from codenav.protocols import CallVotes
from codenav.signatures.callables import CallableSignature, Parameter


class Votes:
    """The votes for the callables of a request."""

    def __init__(self, votes: CallVotes, request: str) -> None:
        self._votes, self._request = votes, request

    def follows(self, item: CallableSignature, earlier: Sequence[Result]) -> float:
        """The votes for calling it after the calls that led to the results of earlier clauses, the newest first."""
        calls = dict.fromkeys(name_of(call) for result in reversed(earlier) for call in result.calls)
        return self._votes.follows(name_of(item), self._request, tuple(calls))

    def gives(self, item: CallableSignature, target: CallableSignature, parameter: Parameter) -> float:
        """How often, 0 to 1, a parameter of `target` takes its result."""
        return self._votes.gives(name_of(item), name_of(target), parameter.name)


def name_of(item: CallableSignature) -> str:
    """The name of a callable, as `CallVotes` has them; of a member of a result without the class, which is not told."""
    if item.kind == "member":
        return f"{item.module}.{item.name}"
    _, imports, rest = item.import_line.partition("from ")
    module = item.module or (rest.partition(" import ")[0] if imports else "")
    return f"{module}.{item.expression}" if module else item.expression
