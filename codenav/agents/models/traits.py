"""Traits of a model: what is known about it that decides how it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Traits:
    """The known facts of a model. Nothing is guessed from its name."""

    parameters: float | None = None
    """Number of its weights. None if nobody told."""
    context: int | None = None
    """Tokens of prompt and answer together. None if nobody told."""
    local: bool = False
    """True if it runs on this machine, so that its tokens cost time only."""
    grammar: bool = False
    """True if its server holds an answer to a grammar in GBNF, the key `grammar` of a request."""


def traits_of(model: object) -> Traits:
    """The traits of a model; those of one that tells none are empty. Never raises, and may ask its server once."""
    found = getattr(model, "traits", None)
    return found if isinstance(found, Traits) else Traits()


def read_traits(entry: Mapping[str, Any], *, local: bool) -> Traits:
    """Traits from a server's entry in `/v1/models`: those of llama.cpp's server (`meta`), vLLM, and those like them."""
    told = entry.get("meta")
    meta: Mapping[str, Any] = told if isinstance(told, dict) else {}
    return Traits(
        parameters=_number(meta.get("n_params")),
        context=_whole(meta.get("n_ctx")) or _whole(entry.get("max_model_len")),
        local=local,
        grammar=entry.get("owned_by") == "llamacpp",
    )


def _number(value: object) -> float | None:
    return float(value) if type(value) in (int, float) and value > 0 else None  # type: ignore[operator, arg-type]


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
