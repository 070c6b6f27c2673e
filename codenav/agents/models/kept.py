"""The findings of `codenav doctor --probe` about a model on a server, kept for later runs: one file for each."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from codenav.core.config import home
from codenav.core.errors import CodeNavError
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.stored import Stored
from codenav.core.system.terminal_text import shown_url

FORMAT = 1
"""Of the files; those of another one are not used."""
AGE = timedelta(days=30)
"""Age from which findings are not used: servers and models are replaced under the same names."""
SWITCHES = (
    "temperature", "seed", "top_p", "grammar", "stop", "stream", "stream_usage", "system", "tools", "tool_choice",
    "parallel_tool_calls",
)  # fmt: skip
"""The attributes of a profile that are True or False."""


@dataclass(frozen=True)
class Findings(Stored):
    """What one probe has learned, and when."""

    learned: Mapping[str, Any]
    """Attributes of a profile."""
    missing: Sequence[str] = ()
    """Names of the abilities that are missing."""
    date: str = ""
    format: int = FORMAT

    def __str__(self) -> str:
        told = [f"{self.learned['context']:,} tokens of context"] if self.learned["context"] else []
        told += [f"without {', '.join(self.missing)}"] if self.missing else []
        return f"tried on {self.date[:10]}: {'; '.join(told) or 'all that was tried works'}"


def findings(url: str, model: str) -> Findings | None:
    """The findings about a model, None if there are none of use: too old, of another format, damaged."""
    try:
        found = Findings.from_dict(json.loads(_place(url, model).read_bytes()))
        age, learned = datetime.now(UTC) - datetime.fromisoformat(found.date), found.learned
        context, limit = learned["context"], learned["max_tokens_name"]
        usable = (
            (found.format, len(learned)) == (FORMAT, len(SWITCHES) + 2)
            and abs(age) <= AGE
            and all(type(learned[name]) is bool for name in SWITCHES)
            and (context is None or (type(context) is int and context > 0))
            and limit in ("max_tokens", "max_completion_tokens", "")
            and all(isinstance(name, str) for name in found.missing)
        )
        return found if usable else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, CodeNavError):
        return None


def keep(url: str, model: str, found: Findings) -> None:
    """Keep findings in place of older ones, whole also if two do so at once; not where nothing can be written."""
    with contextlib.suppress(OSError, CodeNavError):
        place = _place(url, model)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(place, json.dumps({"url": _address(url), "model": model, **found.to_dict()}, indent=1))
        place.chmod(0o600)


def _place(url: str, model: str) -> Path:
    digest = hashlib.sha256(f"{_address(url)}\n{model}".encode("utf-8", "surrogatepass")).hexdigest()
    return home("cache") / "endpoints" / f"{digest[:24]}.json"


def _address(url: str) -> str:
    """The URL of a server without what may be secret: user name, password and query."""
    return shown_url(url.partition("?")[0])
