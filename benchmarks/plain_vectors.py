"""Static vectors of the vocabulary of a sentence encoder, for the rival of search in plain words."""

from __future__ import annotations

import functools

import numpy as np
import plain_packages
from encoder import Encoder

WIDTH = 256
RARE = 1e-4
"""a of the weight a / (a + p) of a token, where p is its share in texts."""
_BATCH = 512


@functools.cache
def load() -> tuple[Encoder, np.ndarray]:
    """The encoder and a vector for each token of its vocabulary, made on first use: two minutes."""
    encoder = Encoder(plain_packages.encoder())
    kept = plain_packages.CACHE / "static-vectors.npy"
    if not kept.exists():
        np.save(kept, _made(encoder))
    return encoder, np.load(kept)


def _made(encoder: Encoder) -> np.ndarray:
    """The mean of the places of `[CLS] token [SEP]`, cut to its first principal components and weighted."""
    first, last, count = encoder.ids["[CLS]"], encoder.ids["[SEP]"], len(encoder.ids)
    tokens = np.array([[first, token, last] for token in range(count)])
    means = np.concatenate([encoder.states(tokens[at : at + _BATCH]).mean(1) for at in range(0, count, _BATCH)])
    means -= means.mean(0)
    _, _, axes = np.linalg.svd(means, full_matrices=False)
    shares = 1 / np.arange(2, count + 2)
    """Zipf's law by the place in the vocabulary."""
    weights = RARE / (RARE + shares / shares.sum())
    return np.asarray((means @ axes[:WIDTH].T) * weights[:, None], dtype=np.float32)
