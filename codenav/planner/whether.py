"""Yes or no from what only complains: `validate(…)` gives nothing where all is well, and raises where it is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codenav.execution import Execution
from codenav.planner.reading import Clause
from codenav.signatures.callables import CallableSignature

_CHECKS = re.compile(r"(?:is_)?(?:valid|validate|check|verify|ensure|assert)(?:_|[A-Z]|$)")
_NO_ANSWER = re.compile(r"(?:Type|Attribute|Name|Import|ModuleNotFound|NotImplemented|OS|FileNotFound|Index|Key)Error")
"""These say that the call was wrong, not what it was given."""


def checks(item: CallableSignature, clause: Clause) -> bool:
    """Whether yes or no is asked, and this is a callable that complains rather than answer."""
    return clause.asks_whether and bool(_CHECKS.match(item.name))


def complaint(execution: Execution) -> tuple[str, str] | None:
    """The exception that says no, as an import line (empty for Python's own) and a name."""
    if execution.error is None:
        return None
    module, _, name = execution.error.type.rpartition(".")
    if _NO_ANSWER.fullmatch(name) or not name.isidentifier():
        return None
    if not module:
        return ("", name) if name == "ValueError" else None
    return f"from {module} import {name}", name


def attempt(name: str, code: str, exception: str) -> Sequence[str]:
    """Lines that bind whether a call raises no such exception."""
    return (
        "from contextlib import suppress",
        f"{name} = False\nwith suppress({exception}):\n    {code}\n    {name} = True",
    )
