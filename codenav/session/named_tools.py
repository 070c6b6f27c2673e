"""The host process of a named sandbox whose code can call tools: its broker lives there.

Run as `python -m codenav.session.named_tools`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.core.options import ToolOptions
from codenav.sandboxes.daemon.server import Tools, detached
from codenav.session.host_calls import MaskedCalls
from codenav.session.tool_calls import EpisodeCalls, ToolCalls
from codenav.tools.broker.security import Secrets
from codenav.tools.state_files import read_spec_of

_VARIABLE = "CODENAV_SECRET_{}"


def described(folders: Sequence[Path], options: ToolOptions) -> dict[str, Any]:
    """Return what `open_tools` needs, as JSON data. It holds the values of the secrets.

    Raises:
        UsageError, Unavailable: a secret is not NAME=VARIABLE, no source takes it, or it has no value.
    """
    return {
        "folders": [str(folder) for folder in folders],
        "secrets": Secrets(options, [read_spec_of(folder, names=()) for folder in folders]).values,
        "allow": options.allow,
        "server": options.server,
        "answer_characters": options.answer_characters,
        "tool_timeout": options.tool_timeout,
    }


def open_tools(data: Mapping[str, Any]) -> Tools:
    """Open the tools of a sandbox. Nobody is there to be asked.

    Raises:
        CodeNavError: raised by `ToolCalls.of`.
    """
    secrets: Mapping[str, str] = data["secrets"]
    variables = {name: _VARIABLE.format(number) for number, name in enumerate(secrets)}
    options = ToolOptions(
        secrets=variables, **{key: data[key] for key in ("allow", "server", "answer_characters", "tool_timeout")}
    )
    # A broker takes values from the environment when it is made. They stay there no longer: children would see them.
    os.environ.update({variables[name]: value for name, value in secrets.items()})
    try:
        tools = ToolCalls.of([Path(folder) for folder in data["folders"]], options)
    finally:
        for variable in variables.values():
            os.environ.pop(variable, None)
    calls = EpisodeCalls(tools, "", options=options)
    return Tools(MaskedCalls(tools, tools.secrets), calls, tools.secrets, tools.close)


if __name__ == "__main__":
    detached(open_tools)
