"""The options of the judges of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codenav.core.errors import UsageError
from codenav.core.setting import setting

if TYPE_CHECKING:
    from codenav.core.protocols import Model


@dataclass(frozen=True)
class ReviewOptions:
    """The models that judge an answer before it ends the run: `ReviewOptions(["big", "small", "small"], 2)`."""

    judges: Sequence[str | Model] = setting(
        (), "Models that judge the answer before it ends the run; a name that comes again gives another opinion.",
        metavar="NAME[,NAME…]",
    )  # fmt: skip
    min_pass: int | None = setting(
        None, "Judges that have to accept the answer; with fewer the agent goes on with their reasons, at most twice.",
        metavar="N", least=1, unset="more than half of them",
    )  # fmt: skip

    def checked(self) -> tuple[list[str | Model], int]:
        """Return the judges one by one, and how many of them have to accept.

        Raises:
            UsageError: a judge has no name, or `min_pass` is no number of them.
        """
        judges: list[str | Model] = []
        for item in [self.judges] if isinstance(self.judges, str) else self.judges:
            judges += [name.strip() for name in item.split(",")] if isinstance(item, str) else [item]
        least = len(judges) // 2 + 1 if self.min_pass is None else self.min_pass
        if not all(judges):
            raise UsageError("a judge has no name", hint="--judges big,small, or big,big,big")
        if self.min_pass is not None and not judges:
            raise UsageError("min_pass is given and no judges are", hint="--judges NAME,NAME,…")
        if self.min_pass is not None and not 1 <= least <= len(judges):
            raise UsageError(f"min_pass is {least}, and --judges names {len(judges)}", hint="name more of them")
        return judges, least
