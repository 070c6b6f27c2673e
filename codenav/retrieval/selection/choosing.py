"""The choice among many tools for a request: rewriting, scores, limits, and what happens where a service fails."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Protocol

from codenav.core.errors import Cancelled, CodeNavError, ModelFailed, UsageError
from codenav.core.messages import Message
from codenav.core.protocols import Encoder, Model
from codenav.core.system.terminal_text import flattened, shortened
from codenav.core.tool_selection import ToolSelection

TURN = 2000
"""Most characters of one turn that the model sees: its beginning and its end."""
SECONDS = 30.0
"""Time limit of the model's answer, with its retries."""


class Rewriter:
    """A model that writes a request anew. A conversation's last turn is the request."""

    def __init__(self, model: Model, *, prompt: str = "", turns: int = 6, tokens: int = 128, trigger: int = 0) -> None:
        """`prompt` is a text in place of the one that is built in; the rest is as in `ToolSelection`."""
        self._model, self._prompt = model, prompt or _builtin()
        self._turns, self._tokens, self._trigger = turns, tokens, trigger

    def acts(self, turns: Sequence[Message]) -> bool:
        """True if a conversation is longer than the trigger, and has anything before its request."""
        return len(turns) > max(1, self._trigger)

    def rewritten(self, turns: Sequence[Message]) -> str:
        """Return the request of a conversation so that it needs none of the turns before; one line.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed, ContextOverflow: the model does not answer, or not with words.
        """
        seen = list(turns)[-self._turns :] if self._turns else list(turns)
        told = "\n\n".join(f"{turn.role}: {_middle_cut(turn.content)}" for turn in seen)
        answer = self._model.complete([Message("system", self._prompt), Message("user", told)], timeout=SECONDS)
        # A model may be one whose answers are not limited where it was opened; a token has four letters.
        written = shortened(flattened(answer.text.strip().strip("\"'`"), 64_000), 4 * self._tokens)
        if not any(map(str.isalnum, written)):
            raise ModelFailed("the model that rewrites requests wrote no words", hint="another rewrite.model")
        return written


def prompt_of(path: str) -> str:
    """Return the text of a prompt file; "" for no file.

    Raises:
        UsageError: it cannot be read, or is empty.
    """
    if not path:
        return ""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the prompt {path}: {error}", hint="a text file in UTF-8") from error
    if not text:
        raise UsageError(f"the prompt {path} is empty", hint="leave it out for the one that is built in")
    return text


@functools.cache
def _builtin() -> str:
    return (resources.files("codenav.retrieval.selection") / "rewrite.md").read_text(encoding="utf-8").strip()


def _middle_cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= TURN else f"{text[: TURN // 2]} … {text[-TURN // 2 :]}"


class Scorer(Protocol):
    """The scores of texts for a query."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a finite score for each text, higher for a better one.

        Raises:
            Unavailable: it does not answer, or not in the right form.
        """
        ...


class EncoderScorer:
    """The cosines of an encoder (`protocols.Encoder`) as scores."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a cosine for each text, -1 to 1."""
        (asked,) = self._encoder.encode([query], query=True)
        return [float(cosine) for cosine in self._encoder.encode(texts) @ asked]


@dataclass(frozen=True)
class Choice:
    """The outcome of one choice."""

    ids: tuple[str, ...]
    """The kept ones, in the order in which it was given: a list that changes least keeps a server's prompt cache."""
    ranked: tuple[str, ...] = ()
    """The ones kept by score, best first; empty if nothing was scored."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """The scores of all that was given; empty if nothing was scored."""
    query: str = ""
    """The request by which it was scored: as it was, or written anew."""
    notes: tuple[str, ...] = ()
    """One line for each service that failed and was skipped."""


class ToolSelector:
    """A `ToolSelection` at work, with the parts that it names. Usable from several threads if these are."""

    def __init__(
        self, settings: ToolSelection, *, scorer: Scorer | None = None, rewriter: Rewriter | None = None
    ) -> None:
        """`scorer` is a `RerankServer`, an `EncoderScorer`, or anything else that scores; None keeps everything.

        Raises:
            UsageError: a setting is not possible.
        """
        self.settings, self._scorer, self._rewriter = settings.checked(), scorer, rewriter

    def query(self, conversation: str | Sequence[Message]) -> tuple[str, tuple[str, ...]]:
        """Return the request of a conversation, written anew where the settings say so, with notes of failures.

        Raises:
            CodeNavError: the model failed, and the settings say `abort`.
        """
        turns = [Message("user", conversation)] if isinstance(conversation, str) else list(conversation)
        request = next((turn.content for turn in reversed(turns) if turn.role == "user"), "")
        if self._rewriter is None or not self._rewriter.acts(turns):
            return request, ()
        try:
            return self._rewriter.rewritten(turns), ()
        except CodeNavError as error:
            if isinstance(error, Cancelled) or self.settings.rewrite_failure == "abort":
                raise
            return request, (f"the request was not written anew: {error}",)

    def choose(
        self,
        conversation: str | Sequence[Message],
        tools: Sequence[tuple[str, str]],
        *,
        keep: Collection[str] = (),
    ) -> Choice:
        """Return which of the tools are kept for a request.

        Args:
            conversation: the request, or the turns that end with it.
            tools: an id and a text of each: name and description, as a rule. Ids differ.
            keep: ids that are kept whatever their score: tools that the conversation called.

        Raises:
            CodeNavError: a service failed, and the settings say `abort`.
            Cancelled: the work was cancelled meanwhile.
        """
        ids = tuple(id for id, _ in tools)
        if self._scorer is None or not tools or len(tools) < self.settings.rerank_trigger:
            return Choice(ids)
        query, notes = self.query(conversation)
        try:
            scores = dict(zip(ids, self._scorer.score(query, [text for _, text in tools]), strict=True))
        except CodeNavError as error:
            if isinstance(error, Cancelled) or self.settings.rerank_failure == "abort":
                raise
            return Choice(ids, query=query, notes=(*notes, f"nothing was ranked: {error}"))
        ranked = sorted(ids, key=lambda id: -scores[id])
        within = [id for id in ranked[: self.room(len(ids))] if self.passes(scores[id])]
        chosen = {*within, *(id for id in ids if id in keep)}
        return Choice(
            tuple(id for id in ids if id in chosen), tuple(id for id in ranked if id in chosen), scores, query, notes
        )

    def room(self, count: int) -> int:
        """Return how many of a number of tools are kept at most."""
        share = max(1, math.ceil(count * self.settings.rerank_percent / 100 - 1e-9))
        return min(count, share, self.settings.rerank_top or count)

    def passes(self, score: float) -> bool:
        """True if a score is not below the threshold."""
        return not self.settings.rerank_threshold or score >= self.settings.rerank_threshold
