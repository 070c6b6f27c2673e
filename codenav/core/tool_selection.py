"""The options of what chooses and orders: encoders, a rerank service, and the rewriting of requests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codenav.core.errors import UsageError
from codenav.core.setting import DAY, SMALLEST, check_ranges, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codenav.core.protocols import Model, Ranker

FAILURES = ("skip", "abort")
_ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s?#]*")


@dataclass(frozen=True)
class ToolSelection:
    """The choice among many tools, and the order of the hits of a search: by which services, and how much is kept.

    An agent and a gateway take the same object. As plain keywords, missing ones have the configured values.
    """

    rerank: bool = setting(
        True, "Searches order their hits by the tool graphs of the sources, which episodes teach, and by what is set "
        "here.",
    )  # fmt: skip
    embeddings: str = setting(
        "", "Encoder for meaning: a directory of sentence-transformers or of codenav train-retriever, or a server with "
        "/v1/embeddings.",
        metavar="DIR|URL",
    )  # fmt: skip
    embeddings_model: str = setting("", "Model of that server.", metavar="NAME", unset="the only one it lists")
    embeddings_api_key: str = setting("", "Key of that server.", metavar="KEY", secret=True)
    rerank_url: str = setting("", "Rerank service that orders the first hits again.", key="rerank.url", metavar="URL")
    rerank_model: str = setting("", "Model of the service.", key="rerank.model", metavar="NAME", unset="its own")
    rerank_api_key: str = setting("", "Key of the service.", key="rerank.api_key", metavar="KEY", secret=True)
    rerank_seconds: float = setting(
        10.0, "Time limit of one choice at the service, with all its parts and retries.",
        key="rerank.seconds", metavar="SECONDS", least=SMALLEST, most=DAY, unit="seconds",
    )  # fmt: skip
    rerank_trigger: int = setting(
        5, "Number of tools, or of hits, from which there is a choice at all.",
        key="rerank.trigger", metavar="N", least=0,
    )  # fmt: skip
    rerank_top: int = setting(20, "Most tools that are kept.", key="rerank.top", metavar="N", least=0, zero="no limit")
    rerank_percent: float = setting(
        100.0, "Most tools that are kept, in per cent of those given; at least one is. The smaller of both limits "
        "counts.",
        key="rerank.percent", metavar="PERCENT", least=SMALLEST, most=100,
    )  # fmt: skip
    rerank_threshold: float = setting(
        0.0, "Score below which a tool is dropped even inside these limits; what a score means is the service's.",
        key="rerank.threshold", metavar="SCORE",
    )  # fmt: skip
    rerank_failure: str = setting(
        "skip", "Where the service fails: keep everything as it was, or end with an error.",
        key="rerank.failure", choices=FAILURES,
    )  # fmt: skip
    rewrite_model: str | Model = setting(
        "", "Model that writes a request anew from the last turns, before anything is ranked by it.",
        key="rewrite.model", metavar="MODEL",
    )  # fmt: skip
    rewrite_trigger: int = setting(
        0, "Turns of a conversation above which that is done.",
        key="rewrite.trigger", metavar="N", least=0, zero="no condition",
    )  # fmt: skip
    rewrite_turns: int = setting(
        6, "Last turns of the conversation that this model sees, the request included.",
        key="rewrite.turns", metavar="N", least=0, zero="all",
    )  # fmt: skip
    rewrite_tokens: int = setting(
        128, "Most tokens that it may write.", key="rewrite.tokens", metavar="N", least=16, most=100_000
    )
    rewrite_prompt: str = setting(
        "", "File with a prompt in place of the one that is built in.", key="rewrite.prompt", metavar="FILE"
    )
    rewrite_failure: str = setting(
        "skip", "Where the model fails: take the request as it is, or end with an error.",
        key="rewrite.failure", choices=FAILURES,
    )  # fmt: skip
    rankers: Sequence[Ranker] = ()
    """Rankers of one's own, which order the hits of a run's searches after the tool graphs."""

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
        check_ranges(self)
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
