"""The services of a `ToolSelection` at work: the encoder, the choice among tools, and the order of hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from codenav.agents.models import open_model
from codenav.core.messages import Message
from codenav.core.protocols import Encoder, Index, Ranker
from codenav.core.system.closing import Closing
from codenav.core.tool_selection import ToolSelection
from codenav.environments.ranking import Ranking
from codenav.retrieval.encoders import open_encoder
from codenav.retrieval.selection.choosing import EncoderScorer, Rewriter, Scorer, ToolSelector, prompt_of
from codenav.retrieval.selection.rankers import Chain, RerankRanker, Rewritten
from codenav.retrieval.selection.rerank import RerankServer
from codenav.retrieval.source_index import SourceIndex, as_index
from codenav.session.episode import Episode

if TYPE_CHECKING:
    from codenav.retrieval.dense.files import Retriever
    from codenav.retrieval.dense.fitting import Weights


class Services(Closing):
    """The encoder, services and model that a `ToolSelection` names, opened. Nothing is sent before it is needed."""

    def __init__(
        self, settings: ToolSelection, *, base_url: str = "", tell: Callable[[str], None] | None = None
    ) -> None:
        """`base_url` is the server of the model that rewrites requests. `tell` gets a line for each service that fails
        and is skipped, each line once, and what that model's client has to say.

        Raises:
            UsageError, NotFound: a setting is not possible, or names no file or directory.
            MissingExtra: a directory with an encoder needs a package that is not installed.
            Unavailable: a directory with an encoder is not whole.
            ModelNotConfigured, ModelRefused: for the reasons of `open_model`.
        """
        self._settings, self._tell_all = settings.checked(), tell or (lambda text: None)
        self._told: set[str] = set()
        self._closing = ExitStack()
        self.encoder: Encoder | None = None
        self._retriever: Retriever | None = None
        self._weights: Weights | None = None
        if settings.embeddings:
            self._open_encoder()
        self._server = None
        if settings.rerank_url:
            self._server = RerankServer(
                settings.rerank_url,
                model=settings.rerank_model,
                key=settings.rerank_api_key,
                seconds=settings.rerank_seconds,
            )
        scorer: Scorer | None = self._server or (EncoderScorer(self.encoder) if self.encoder else None)
        self._rewrites = bool(settings.rewrite_model)
        self.selector = ToolSelector(settings, scorer=scorer, rewriter=self._rewriter(base_url))
        self._reranker = RerankRanker(self.selector, self._server, tell=self._tell) if self._server else None

    def _open_encoder(self) -> None:
        # Imported here: numpy is loaded by those who use it.
        from codenav.retrieval.dense.files import is_retriever, read
        from codenav.toolgraph.base_encoders import tuned_weights

        settings, folder = self._settings, Path(self._settings.embeddings).expanduser()
        if "://" not in settings.embeddings and is_retriever(folder):
            self._retriever = read(folder)
            self.encoder = self._retriever.encoder
            return
        self.encoder = open_encoder(
            settings.embeddings,
            model=settings.embeddings_model,
            dimensions=settings.embeddings_dimensions,
            key=settings.embeddings_api_key,
        )
        self._weights = tuned_weights(folder)

    def index(self, indexes: Sequence[SourceIndex]) -> Index:
        """Return the indexes as one, which finds by meaning too if there is an encoder."""
        if self.encoder is None:
            return as_index(indexes)
        from codenav.retrieval.dense.stage import dense_index

        return dense_index(indexes, self.encoder, retriever=self._retriever, weights=self._weights, tell=self._tell)

    def ranking(self, ranking: Ranking | None, request: str, turns: Sequence[Message] = ()) -> Ranking | None:
        """Return the order of hits with these services added, or as it was if they order nothing.

        `turns` of the conversation come before the request.
        """
        own = [*self._settings.rankers, *([self._reranker] if self._reranker else [])]
        rankers: list[Ranker] = [*([ranking.ranker] if ranking else []), *own]
        if not rankers or (ranking and len(rankers) == 1 and not self._rewrites):
            return ranking
        ranker = rankers[0] if len(rankers) == 1 else Chain(rankers, tell=self._tell)
        if self._rewrites:
            ranker = Rewritten(ranker, self.selector, turns, tell=self._tell)
        if ranking is None:
            return Ranking(ranker, request, tell=self._tell)
        return replace(ranking, ranker=ranker, reads=self._reranker is not None)

    def close(self) -> None:
        """Release the connections. Safe to call twice."""
        self._closing.close()

    def _rewriter(self, base_url: str) -> Rewriter | None:
        settings = self._settings
        if not settings.rewrite_model:
            return None
        model = settings.rewrite_model
        if isinstance(model, str):
            model = open_model(model, base_url=base_url, notice=self._tell, max_tokens=settings.rewrite_tokens)
            self._closing.callback(model.close)
        return Rewriter(
            model,
            prompt=prompt_of(settings.rewrite_prompt),
            turns=settings.rewrite_turns,
            tokens=settings.rewrite_tokens,
            trigger=settings.rewrite_trigger,
        )

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell_all(text)


def turns_of(episodes: Sequence[Episode]) -> list[Message]:
    """Return the requests and answers of episodes as a conversation."""
    turns = [
        turn
        for episode in episodes
        for turn in (Message("user", episode.request), Message("assistant", episode.result.answer))
    ]
    return [turn for turn in turns if turn.content]
