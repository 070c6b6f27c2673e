"""The header of a GGUF file: what is in it, before anything is loaded.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import NotFound, UsageError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Type of a value to its code in `struct`."""
_TEXT, _ARRAY = 8, 9
_SHORT = 1024
"""Numbers of an array that are kept; longer ones are vocabularies."""


@dataclass(frozen=True)
class Header:
    """The header of a model file."""

    parameters: int
    """Number of weights."""
    context: int
    """Tokens that it was trained for; 0 if the header does not say."""
    chat: bool
    """True if it has a chat template: it was taught to answer."""
    cache: int
    """Bytes of attention cache for each token of context, at 16 bits a number."""


def read_header(path: Path) -> Header:
    """The header of a file.

    Raises:
        NotFound: there is no such file.
        UsageError: it is no GGUF file, is cut short, or cannot be read.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(data)
    except FileNotFoundError:
        raise NotFound(f"no file {path}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except _CutShort:
        raise UsageError(f"{path} is cut short", hint="fetch it again") from None
    except (ValueError, struct.error, KeyError, TypeError, OverflowError):
        raise UsageError(f"{path} is not a GGUF file", hint="codenav models list") from None


class _CutShort(Exception):
    """The data end before those of a tensor begin."""


def _read(data: mmap.mmap) -> Header:
    if data[:4] != b"GGUF":
        raise ValueError("no GGUF file")
    reader = _Reader(data)
    reader.number("I")
    tensors, keys = reader.number("Q"), reader.number("Q")
    facts = {reader.text(): reader.value(reader.number("I")) for _ in range(keys)}
    weights = last = 0
    for _ in range(tensors):
        reader.text()
        weights += math.prod(reader.number("Q") for _ in range(reader.number("I")))
        reader.number("I")
        last = max(last, reader.number("Q"))
    if tensors and reader.at + last >= len(data):
        raise _CutShort
    kind = facts.get("general.architecture", "")
    context = facts.get(f"{kind}.context_length", 0)
    return Header(weights, int(context), "tokenizer.chat_template" in facts, _cache(facts, kind))


def _cache(facts: Mapping[str, Any], kind: str) -> int:
    layers, heads = facts.get(f"{kind}.block_count", 0), facts.get(f"{kind}.attention.head_count", 0)
    if not (layers and isinstance(heads, int) and heads):
        return 0
    each = facts.get(f"{kind}.embedding_length", 0) // heads
    wide = sum(facts.get(f"{kind}.attention.{what}_length", each) for what in ("key", "value"))
    shared = facts.get(f"{kind}.attention.head_count_kv", heads)
    return int(2 * wide * (sum(shared) if isinstance(shared, list) else shared * layers))


class _Reader:
    """Values of a file, one after another."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self.at = data, 4

    def number(self, code: str) -> Any:
        [value] = struct.unpack_from(f"<{code}", self._data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def text(self) -> str:
        length = self.number("Q")
        self.at += length
        if self.at > len(self._data):
            raise _CutShort
        return self._data[self.at - length : self.at].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A value of that type; of a long array nothing is kept."""
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            return self.number(_NUMBERS[kind])
        inner, length = self.number("I"), self.number("Q")
        if inner in _NUMBERS and length > _SHORT:
            self.at += length * struct.calcsize(f"<{_NUMBERS[inner]}")
            return []
        if inner == _TEXT:
            for _ in range(length):
                # Most of the time of a header: a vocabulary and its merges.
                self.at += 8 + int.from_bytes(self._data[self.at : self.at + 8], "little")
                if self.at > len(self._data):
                    raise _CutShort
            return []
        return [self.value(inner) for _ in range(length)]
