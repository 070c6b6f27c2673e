"""The exception tree: errors that stop a command or a call, each with the next thing to do.

CodeNavError (exit code 1)
├── UsageError (2)
│   ├── NotFound            a named folder, package, episode or interpreter does not exist
│   ├── Ambiguous           a name matches several blocks
│   └── QueryTooLarge       a query of over 64 KB
├── Unavailable (4)
│   ├── ModelNotConfigured  no model was named
│   ├── ModelUnreachable    nothing answers at the base URL
│   ├── ModelRefused        401, 403, an exhausted quota
│   ├── SandboxUnavailable  no backend can contain code here
│   ├── IndexUnavailable    the index cannot be read, or is being built by another process
│   ├── StorageFull         no space or no permission to write under CODENAV_HOME
│   └── MissingExtra        an optional package is not installed
├── LimitReached (3)        steps, seconds or tokens of an episode
├── Cancelled (130)         `Episode.cancel` was called
└── ModelFailed (1)         the model answered, but not with anything usable
    └── ContextOverflow     the conversation no longer fits into the model's context

Interrupted (a KeyboardInterrupt): Ctrl-C while a model was at work.

Errors that a *model* should see and react to are not here: they are observations (`actions.py`).
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codenav.core.blocks import CodeBlock
    from codenav.core.messages import Completion

ELSEWHERE = "point CODENAV_HOME at a folder that you may read and write"
"""The hint for trouble with codenav's own folder other than a full disk."""


class CodeNavError(Exception):
    """The root of every error that codenav raises on purpose.

    `hint` is the next command or action for the reader; `exit_code` is the exit code of the command line.
    """

    exit_code = 1
    hint = ""
    partial: Completion | None = None
    """After a failed model call: its cost, and the text of the last answer when it was cut off."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint
        if self.hint:
            # Shown below the message in a traceback; `str` gives the message alone.
            self.add_note(f"Try: {self.hint}")


class UsageError(CodeNavError):
    """Something that the caller named or passed is wrong."""

    exit_code = 2


class NotFound(UsageError):
    """A named folder, package, episode or interpreter does not exist."""


class Ambiguous(UsageError):
    """A name matches several blocks: `candidates`, the likeliest first."""

    hint = "name one by its id, by PATH::NAME, by PATH:LINE, or by more of its dotted name"

    def __init__(self, message: str, *, candidates: Sequence[CodeBlock]) -> None:
        super().__init__(message)
        self.candidates = candidates


class QueryTooLarge(UsageError):
    """A query of over 64 KB."""

    hint = "split the query into several lines"


class Unavailable(CodeNavError):
    """Something outside codenav is missing or denies access."""

    exit_code = 4


class ModelNotConfigured(Unavailable):
    """No model was named, and none is installed; a key alone configures nothing."""

    hint = "codenav models get brings one to this machine; or name one on a server: --model NAME --base-url URL"


class ModelUnreachable(Unavailable):
    """Nothing answers at the model's base URL."""

    hint = "codenav doctor"


class ModelRefused(Unavailable):
    """The server understood the request and denied it: 401, 403 or an exhausted quota. Never retried."""

    hint = "check OPENAI_API_KEY"


class SandboxUnavailable(Unavailable):
    """The requested sandbox cannot run here."""

    hint = "codenav doctor"


class IndexUnavailable(Unavailable):
    """The index cannot be opened, or another process is building it for the first time."""

    hint = "codenav doctor"


class StorageFull(Unavailable):
    """codenav cannot write to its own folder: no space, or, according to `cause`, no permission."""

    hint = "free some space, or point CODENAV_HOME at another disk"

    def __init__(self, message: str, *, hint: str | None = None, cause: OSError | None = None) -> None:
        if hint is None and cause is not None and cause.errno not in (errno.ENOSPC, errno.EDQUOT):
            hint = ELSEWHERE
        super().__init__(message, hint=hint)


class MissingExtra(Unavailable):
    """Optional packages that this needs are not installed: grammars of languages, readers of tool specifications."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed", hint=f"pip install 'codenav-agent[{extra}]'")


class RankingFailed(Unavailable):
    """A service that orders hits failed, and the settings say `abort`. Any other failure of a ranker is skipped."""


class LimitReached(CodeNavError):
    """An episode used up one of its limits.

    `kind` is "steps", "seconds" or "tokens"; `value` is the amount used, `limit` the amount allowed.
    """

    exit_code = 3

    def __init__(self, kind: str, value: float, limit: float) -> None:
        super().__init__(f"limit reached: {value:,.10g} of {limit:,.10g} {kind}", hint=f"raise it with --max-{kind}")
        self.kind, self.value, self.limit = kind, value, limit


class Cancelled(CodeNavError):
    """The episode was cancelled by another thread."""

    exit_code = 130

    def __init__(self, message: str = "cancelled", *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)


class ModelFailed(CodeNavError):
    """The model's server answered, but with nothing usable."""


class ContextOverflow(ModelFailed):
    """The conversation no longer fits into the model's context.

    `limit` is the server's context length in tokens, `prompt_tokens` the length of the prompt; None if the server did
    not say.
    """

    def __init__(self, message: str, *, limit: int | None = None, prompt_tokens: int | None = None) -> None:
        super().__init__(message, hint="use a model with a longer context, or a shorter --description")
        self.limit, self.prompt_tokens = limit, prompt_tokens


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while a model was at work; `partial` holds its cost and the text written so far."""

    def __init__(self, partial: Completion) -> None:
        super().__init__()
        self.partial = partial
