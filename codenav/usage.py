"""What a model call and a whole run cost in requests, tokens and seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Adds up: `Usage() + Usage(requests=1)`."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    """Reasoning included, where the server counts it."""
    seconds: float = 0.0
    """Time in model calls, retries and waits included."""
    estimated: bool = False
    """True where a server reported no tokens and `estimate_tokens` stood in."""

    @property
    def tokens(self) -> int:
        """Input and output together: what `Limits.tokens` bounds."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            seconds=self.seconds + other.seconds,
            estimated=self.estimated or other.estimated,
        )

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Usage:
        """The inverse of `to_dict`."""
        return cls(**data)


def estimate_tokens(text: str) -> int:
    """Tokens of a text without a tokenizer: a quarter of its UTF-8 bytes, rounded up.

    English and code have about four bytes a token in the vocabularies in use; a real tokenizer would have to
    download its table at run time.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)
