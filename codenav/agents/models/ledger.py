"""The cost of the requests of one model call, the text of the last one if it was cut off, and the server's counts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from codenav.agents.models.answers import Answer, read_answer
from codenav.agents.models.streams import Stream
from codenav.core.messages import Completion, Message
from codenav.core.usage import Usage, estimate_tokens


class Ledger:
    """The ledger of one call, retries and repeats included."""

    def __init__(self, prompt: int, prices: tuple[float, float] = (0.0, 0.0)) -> None:
        """`prompt`: the estimated length of the prompt in tokens. `prices` are those of `Usage.priced`."""
        self._prompt, self._prices = prompt, prices
        self._began = time.monotonic()
        self._usage = Usage()
        self._cut = ("", "")
        """Text and reasoning from the last request that was cut off."""
        self._open: Stream | None = None
        """The stream of the request in progress."""

    def begin(self) -> Stream:
        """Record that a request is sent; return the stream to read its response into."""
        self._usage += Usage(requests=1)
        self._open = Stream()
        return self._open

    def answered(self, answer: Answer) -> None:
        """Record that the request was answered."""
        self._open = None
        self._usage += Usage(
            input_tokens=answer.input_tokens or self._prompt,
            output_tokens=answer.output_tokens or estimate_tokens(answer.text + answer.reasoning),
            estimated=not (answer.input_tokens and answer.output_tokens),
        )

    def failed(self, *, silent: bool = False) -> None:
        """Record that the request failed: refused, cut off in the middle, or not answered in time (`silent`)."""
        stream, self._open = self._open, None
        if stream and (stream.began or silent):
            self._lost(stream)

    def usage(self) -> Usage:
        """The usage of the call up to now, and its duration."""
        return (self._usage + Usage(seconds=time.monotonic() - self._began)).priced(*self._prices)

    def partial(self) -> Completion:
        """The partial completion of a call that ends without an answer."""
        self.failed(silent=True)
        text, reasoning = self._cut
        return Completion(text, self.usage(), reasoning, truncated=True)

    def _lost(self, stream: Stream) -> None:
        answer = read_answer(stream.so_far)
        self._cut = (answer.text, answer.reasoning)
        self.answered(answer)


class Counts:
    """The prompt tokens that a server reports, in the order of its answers."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._last: tuple[Sequence[Message], int] = ((), 0)

    def doubt(self, messages: Sequence[Message], answer: Answer) -> str:
        """The reason to doubt that the server read the whole prompt, or "".

        No tokenizer makes one token of two words, so a prompt has at least as many tokens as words, and one that grew
        by n words has at least n tokens more. A tolerance of a tenth and a fifth is for templates that drop a little.
        """
        if not answer.input_tokens:
            return ""
        earlier, tokens = self._last
        self._last = (tuple(messages), answer.input_tokens)
        # Some servers do not count cached tokens.
        read = answer.input_tokens + answer.cached_tokens
        words = _words(messages)
        grown = 0
        if earlier and tuple(messages[: len(earlier)]) == tuple(earlier):
            grown = _words(messages[len(earlier) :])
        about = sum(estimate_tokens(message.content) for message in messages)
        # Some proxies report a placeholder: if it is above our estimate, it is no sign of a cut prompt.
        stands_still = grown >= 50 and read < tokens + 0.8 * grown and read < about
        if not ((words >= 500 and read < 0.9 * words) or stands_still):
            return ""
        return f"{self._url} says that it read {read:,} tokens of a prompt of about {max(about, words):,}"


def _words(messages: Sequence[Message]) -> int:
    return sum(len(message.content.split()) for message in messages)
