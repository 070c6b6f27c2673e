"""The cost of a model call or a whole run in requests, tokens and seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from codenav.core.system.stored import Stored


@dataclass(frozen=True)
class Usage(Stored):
    """The cost of one or several model calls. Usages add up: `Usage() + Usage(requests=1)`."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    """Tokens of the answers, reasoning included where the server counts it."""
    seconds: float = 0.0
    """Time in model calls, including retries and waits."""
    estimated: bool = False
    """True if a server reported no tokens and `estimate_tokens` replaced them."""
    dollars: float = 0.0
    """Cost at the prices of the configuration file; 0 where it gives none."""

    digits: ClassVar[Mapping[str, int]] = {"seconds": 3}

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON types; `dollars` is there where a price is known."""
        found = super().to_dict()
        return found if self.dollars else {name: value for name, value in found.items() if name != "dollars"}

    def priced(self, price_in: float, price_out: float) -> Usage:
        """The same with its cost, at these dollars for a million tokens read and written."""
        return replace(self, dollars=(self.input_tokens * price_in + self.output_tokens * price_out) / 1e6)

    @property
    def tokens(self) -> int:
        """Input and output tokens together, as bounded by `Limits.tokens`."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            seconds=self.seconds + other.seconds,
            estimated=self.estimated or other.estimated,
            dollars=self.dollars + other.dollars,
        )


def estimate_tokens(text: str) -> int:
    """The number of tokens of a text without a tokenizer: a quarter of its UTF-8 bytes, rounded up.

    English and code have about four bytes per token in the vocabularies in use; a real tokenizer would have to download
    its table at run time.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)
