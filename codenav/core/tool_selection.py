"""The options of what chooses and orders: encoders, a rerank service, and the rewriting of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypedDict

from codenav.core.errors import UsageError

if TYPE_CHECKING:
    from codenav.core.protocols import Model

FAILURES = ("skip", "abort")
_ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s?#]*")


@dataclass(frozen=True)
class ToolSelection:
    """The choice among many tools, and the order of the hits of a search: by which services, and how much is kept.

    An agent and a gateway take the same object. As plain keywords, missing ones have the configured values.
    """

    embeddings: str = ""
    """Encoder of texts: a directory of sentence-transformers or of `codenav train-retriever`, or the URL of a server
    with `/v1/embeddings`. Empty: none."""
    embeddings_model: str = ""
    """Name that such a server is asked for. Empty: the only one that it lists."""
    embeddings_dimensions: int = 0
    """Numbers of a vector that such a server is asked for. 0 leaves them to the model."""
    embeddings_api_key: str = field(default="", repr=False)
    """Key of that server. Empty: none is sent."""
    rerank_url: str = field(default="", metadata={"option": "rerank"})
    """URL of a rerank service. Empty: none."""
    rerank_model: str = ""
    """Name that the service is asked for. Empty: its own."""
    rerank_api_key: str = field(default="", repr=False)
    """Key of the service. Empty: none is sent."""
    rerank_seconds: float = 10.0
    """Time limit of one choice at the service, with all its parts and retries."""
    rerank_trigger: int = 5
    """Number of tools, or of hits, from which there is a choice at all."""
    rerank_top: int = 20
    """Most tools that are kept. 0 is no limit."""
    rerank_percent: float = 100.0
    """Most tools that are kept, in per cent of those given; at least one is. The smaller of both limits counts."""
    rerank_threshold: float = 0.0
    """Score below which a tool is dropped even inside these limits. What a score means is the service's. 0 is off."""
    rerank_failure: str = "skip"
    """`skip`: where the service fails, everything is kept as it was. `abort`: that is an error."""
    rewrite: str | Model = ""
    """Model that writes the request anew from the last turns, before anything is ranked by it. Empty: off."""
    rewrite_trigger: int = 0
    """Turns of a conversation above which that is done. 0 is no condition."""
    rewrite_turns: int = 6
    """Last turns of the conversation that this model sees, the request included. 0 means all."""
    rewrite_tokens: int = 128
    """Most tokens that it may write."""
    rewrite_prompt: str = ""
    """File with a prompt in place of the one that is built in."""
    rewrite_failure: str = "skip"
    """`skip`: where the model fails, the request is taken as it is. `abort`: that is an error."""

    def checked(self) -> ToolSelection:
        """Return the options after checking them.

        Raises:
            UsageError: a value is not one of those that are possible.
        """
        if self.rerank_url and not _ADDRESS.fullmatch(self.rerank_url):
            raise UsageError(
                f"the rerank service is no address: {self.rerank_url!r}",
                hint="an address such as http://localhost:8080/v1/rerank",
            )
        if "://" in self.embeddings and not _ADDRESS.fullmatch(self.embeddings):
            raise UsageError(
                f"the server of embeddings is no address: {self.embeddings!r}",
                hint="an address such as http://localhost:8080/v1",
            )
        for name in ("rerank_failure", "rewrite_failure"):
            if getattr(self, name) not in FAILURES:
                raise UsageError(f"{name} is {getattr(self, name)!r}", hint=f"one of {', '.join(FAILURES)}")
        for name, (least, most, words) in RANGES.items():
            if not least <= getattr(self, name) <= most:
                raise UsageError(f"{name} must be {words}: {getattr(self, name)}", hint=f"{name}={_default(name)}")
        return self

    def secrets(self) -> dict[str, str]:
        """Return the keys by name, for what masks them."""
        return {
            name: value
            for name, value in (
                ("embeddings api key", self.embeddings_api_key),
                ("rerank api key", self.rerank_api_key),
            )
            if value
        }

    @property
    def ranks(self) -> bool:
        """True if there is anything here that scores texts."""
        return bool(self.embeddings or self.rerank_url)


LARGEST = 2**31 - 1
RANGES: Mapping[str, tuple[float, float, str]] = {
    "embeddings_dimensions": (0, 65_536, "0 (the model's own) to 65536"),
    "rerank_seconds": (1e-3, 86_400, "above 0 and at most 86400 seconds"),
    "rerank_trigger": (0, LARGEST, "0 or above"),
    "rerank_top": (0, LARGEST, "0 (no limit) or above"),
    "rerank_percent": (1e-3, 100, "above 0 and at most 100"),
    "rerank_threshold": (-1e9, 1e9, "a number"),
    "rewrite_trigger": (0, LARGEST, "0 (no condition) or above"),
    "rewrite_turns": (0, LARGEST, "0 (all) or above"),
    "rewrite_tokens": (16, 100_000, "16 to 100000"),
}
"""For each numeric field the lowest and the highest value, and the range in words."""


class SelectionKeywords(TypedDict, total=False):
    """`ToolSelection` as keywords. None or missing is the configured value."""

    embeddings: str | None
    embeddings_model: str | None
    embeddings_dimensions: int | None
    embeddings_api_key: str | None
    rerank_url: str | None
    rerank_model: str | None
    rerank_api_key: str | None
    rerank_seconds: float | None
    rerank_trigger: int | None
    rerank_top: int | None
    rerank_percent: float | None
    rerank_threshold: float | None
    rerank_failure: str | None
    rewrite: str | Model | None
    rewrite_trigger: int | None
    rewrite_turns: int | None
    rewrite_tokens: int | None
    rewrite_prompt: str | None
    rewrite_failure: str | None


def _default(name: str) -> Any:
    return next(item.default for item in fields(ToolSelection) if item.name == name)
