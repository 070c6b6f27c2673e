"""Encoders of texts, by what a person writes: a directory of sentence-transformers, which can be tuned, or a URL."""

from __future__ import annotations

from pathlib import Path

from codenav.core.errors import NotFound, UsageError
from codenav.core.protocols import Encoder
from codenav.retrieval.encoders.directory import is_model


def open_encoder(text: str, *, model: str = "", key: str = "") -> Encoder:
    """Return the encoder at a URL with `/v1/embeddings`, or in a directory of sentence-transformers.

    `model` and `key` are for a server (`EmbeddingServer`). Nothing is sent yet.

    Raises:
        UsageError: it is no address, or a directory with something else in it.
        NotFound: there is no such directory.
        MissingExtra: the extra `embeddings` is not installed.
        Unavailable: the directory is not whole, or holds a model of another form.
    """
    if "://" in text:
        from codenav.retrieval.encoders.server import EmbeddingServer

        return EmbeddingServer(text, model=model, key=key)
    if model:
        raise UsageError(f"{text} is a directory: a name of the model is for a server", hint="leave it out")
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise NotFound(f"no such directory: {text}", hint="a directory with a model, or http://HOST:PORT/v1")
    if not is_model(folder):
        raise UsageError(
            f"{text} holds no model that codenav knows",
            hint="a directory of sentence-transformers or of codenav train-retriever, or http://HOST:PORT/v1",
        )
    from codenav.retrieval.encoders.sentence import SentenceEncoder

    return SentenceEncoder(folder)
