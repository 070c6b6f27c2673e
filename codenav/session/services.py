"""The services of a `ToolSelection` at work, each as a ranker, and the order of hits by all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codenav.agents.models import open_model
from codenav.core.blocks import BlockKind
from codenav.core.messages import Message
from codenav.core.protocols import Encoder, Ranker
from codenav.core.system.closing import Closing
from codenav.core.tool_selection import ToolSelection
from codenav.environments.ranking import Ranking
from codenav.retrieval.encoders import open_encoder
from codenav.retrieval.selection.rerank_server import RerankServer
from codenav.retrieval.selection.reranking import RerankRanker
from codenav.retrieval.selection.rewriting import Rewriter
from codenav.retrieval.source_index import SourceIndex
from codenav.session.episode import Episode
from codenav.session.questions import with_answers

if TYPE_CHECKING:
    from codenav.retrieval.dense.ranker import DenseRanker


class Services(Closing):
    """The rankers that a `ToolSelection` names, opened. Nothing is sent before it is needed."""

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
        self._dense: Callable[..., DenseRanker] | None = None
        self._by_meaning: DenseRanker | None = None
        if settings.embeddings:
            self._open_encoder()
        self._server, self._reranker = None, None
        if settings.rerank_url:
            self._server = RerankServer(
                settings.rerank_url,
                model=settings.rerank_model,
                key=settings.rerank_api_key,
                seconds=settings.rerank_seconds,
            )
            self._reranker = RerankRanker(settings, self._server, tell=self._tell)
        self._rewriter = self._opened_rewriter(base_url) if settings.rewrite_model else None

    def search_in(self, indexes: Sequence[SourceIndex], kinds: Collection[BlockKind] | None = None) -> None:
        """Order hits by meaning too, if there is an encoder: those of searches in these indexes for these kinds."""
        self._by_meaning = self._dense(indexes, kinds=kinds) if self._dense else None

    def ranking(self, ranking: Ranking | None, request: str, turns: Sequence[Message] = ()) -> Ranking | None:
        """Return the order of hits: by meaning, as it was, by rankers of one's own, by the rerank service.

        It is None if nothing orders them. `turns` of the conversation come before the request.
        """
        before: list[Ranker] = [self._by_meaning] if self._by_meaning else []
        after: list[Ranker] = [*self._settings.rankers, *([self._reranker] if self._reranker else [])]
        rankers = [*before, *(ranking.rankers if ranking else ()), *after]
        if not rankers:
            return None
        return Ranking(
            *rankers,
            request=request,
            called=ranking.called if ranking else tuple,
            tell=self._tell,
            # Once for each request, however often it is searched for.
            rewrite=functools.cache(partial(self._rewriter.rewrite, turns)) if self._rewriter else str,
        )

    def check(self) -> None:
        """Ask the encoder and the rerank service about two texts.

        Raises:
            Unavailable: one of them does not answer, or not in the right form.
        """
        request, texts = "order two mugs", ["order a mug", "delete a user"]
        if self.encoder:
            self.encoder.encode([request], query=True)
            self.encoder.encode(texts)
        if self._server:
            self._server.score(request, texts)

    def close(self) -> None:
        """Release the connections. Safe to call twice."""
        self._closing.close()

    def _open_encoder(self) -> None:
        # Imported here: numpy is loaded by those who use it.
        from codenav.retrieval.dense.files import is_retriever, read
        from codenav.retrieval.dense.ranker import dense_ranker
        from codenav.toolgraph.base_encoders import tuned_weights

        settings, folder = self._settings, Path(self._settings.embeddings).expanduser()
        if "://" not in settings.embeddings and is_retriever(folder):
            retriever = read(folder)
            self.encoder = retriever.encoder
            self._dense = partial(dense_ranker, encoder=retriever.encoder, retriever=retriever, tell=self._tell)
            return
        self.encoder = open_encoder(
            settings.embeddings,
            model=settings.embeddings_model,
            key=settings.embeddings_api_key,
        )
        self._dense = partial(dense_ranker, encoder=self.encoder, weights=tuned_weights(folder), tell=self._tell)

    def _opened_rewriter(self, base_url: str) -> Rewriter:
        model = self._settings.rewrite_model
        if isinstance(model, str):
            most = self._settings.rewrite_tokens
            model = open_model(model, base_url=base_url, notice=self._tell, max_tokens=most)
            self._closing.callback(model.close)
        return Rewriter(model, self._settings, tell=self._tell)

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell_all(text)


def turns_of(episodes: Sequence[Episode]) -> list[Message]:
    """Return the requests and answers of episodes as a conversation."""
    turns = [
        turn
        for episode in episodes
        for turn in (Message("user", with_answers(episode.result)), Message("assistant", episode.result.answer))
    ]
    return [turn for turn in turns if turn.content]
