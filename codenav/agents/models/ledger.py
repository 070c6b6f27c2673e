"""The cost of the requests of one model call, and the text of the last one if it was cut off."""

from __future__ import annotations

import time

from codenav.agents.models.answers import Answer, read_answer
from codenav.agents.models.streams import Stream
from codenav.core.messages import Completion
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
