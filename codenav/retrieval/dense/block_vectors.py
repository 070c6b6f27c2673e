"""The vectors of the blocks of an index, kept in a file, so that only new and changed blocks are encoded again."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.errors import CodeNavError
from codenav.core.protocols import Encoder, Index
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.locks import held
from codenav.core.traces import callable_name
from codenav.retrieval import documents
from codenav.retrieval.dense.words import Floats

LONGEST = 4_000
"""Characters of a docstring that are read. The description comes first; what is further down tells less."""

_TOOL_END = re.compile(r"^(?:Returns|Raises|Example):\s*$", re.MULTILINE)
_TOOL_LINE = re.compile(r"^Tool '.*$", re.MULTILINE)
_HEADINGS = re.compile(r"^Args:\s*$|: no description\.$|^\s*>>>.*$|^[-=~]{3,}$", re.MULTILINE)
_SIGNATURE = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+|\bself\b|\bcls\b")


def text_of(block: CodeBlock) -> str:
    """The text of a block. What the stub of every tool has says nothing about one, and is left out."""
    said = block.docstring[:LONGEST]
    if block.kind is BlockKind.TOOL:
        said = _TOOL_LINE.sub("", _TOOL_END.split(said, maxsplit=1)[0])
        return f"{block.qualname} {_HEADINGS.sub('', said)}"
    return f"{block.qualname} {_HEADINGS.sub('', said)} {_SIGNATURE.sub(' ', block.signature)}"


FORMAT = 1
KINDS = (
    BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.TOOL, BlockKind.DOCUMENT, BlockKind.EPISODE,
)  # fmt: skip
"""The kinds of blocks that are found by meaning. What others say of themselves is a line of code."""
_BATCH = 256
"""Blocks that are in memory and encoded at a time."""
_LONG = 5.0
"""Seconds of encoding after which a line says how long it will take."""


class Facts(NamedTuple):
    """The facts of a block that ranking needs."""

    id: str
    kind: BlockKind
    path: str
    name: str
    """Of a callable its name as by `traces.callable_name`; empty for another block."""
    worth: float


class BlockVectors:
    """The vectors of blocks, a row for each, with their facts."""

    def __init__(self, blocks: Sequence[Facts], vectors: Floats) -> None:
        self.blocks, self.vectors = list(blocks), vectors
        self.worths: Floats = np.array([block.worth for block in blocks], dtype=np.float32)

    def __len__(self) -> int:
        return len(self.blocks)

    @classmethod
    def joined(cls, parts: Sequence[BlockVectors]) -> BlockVectors:
        """The vectors of several indexes as one."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        return cls([block for part in parts for block in part.blocks], np.concatenate([part.vectors for part in parts]))

    @classmethod
    def of(
        cls,
        index: Index,
        encoder: Encoder,
        folder: Path,
        *,
        state: str,
        dimensions: int,
        tell: Callable[[str], None] = lambda text: None,
    ) -> BlockVectors:
        """The vectors of an index, from the file in a folder as far as it has them.

        `state` changes with the content of the index; `dimensions` are the numbers of a vector. `tell` gets a line if
        this takes long, or if the file cannot be written. Where the encoder fails, what it made is kept.

        Raises:
            Unavailable: the encoder does not answer.
            IndexUnavailable: the index cannot be read.
        """
        path = folder / f"{hashlib.blake2b(encoder.name.encode(), digest_size=8).hexdigest()}.npz"

        def keep(state: str) -> None:
            try:
                _write(path, made.vectors(), encoder.name, state)
            except OSError as error:
                tell(f"vectors of blocks are not kept: {error.strerror or error}")

        kept = _read(path, encoder.name, dimensions)
        with ExitStack() as lock:
            if not kept or kept[0] != state:
                # Where no file can be written, the vectors are made all the same.
                with suppress(OSError):
                    lock.enter_context(
                        held(folder, ".vectors.lock", waiting=lambda: tell("another process encodes the blocks"))
                    )
                    kept = _read(path, encoder.name, dimensions)
            if kept and kept[0] == state:
                return kept[1]
            made = _Growing(kept[1] if kept else None, dimensions)
            try:
                made.grow(index, encoder, tell)
            except BaseException:
                if made.new and not (kept and len(made.blocks) < len(kept[1])):
                    keep("")
                raise
            keep(state)
            return made.vectors()


class _Growing:
    """The vectors of an index in the making."""

    def __init__(self, kept: BlockVectors | None, dimensions: int) -> None:
        """`kept` are vectors of some of its blocks."""
        self._kept, self._dimensions = kept, dimensions
        self._none: Floats = np.zeros((0, dimensions), dtype=np.float32)
        self._known = {block.id: row for row, block in enumerate(kept.blocks)} if kept else {}
        self.blocks, self._rows = list[Facts](), list[Floats]()
        self.new = 0
        """Blocks that were encoded."""

    def grow(self, index: Index, encoder: Encoder, tell: Callable[[str], None]) -> None:
        """Add all blocks; those that are not known are encoded."""
        wanted = (block for block in index.blocks() if block.kind in KINDS)
        began, announced = time.monotonic(), False
        while blocks := list(islice(wanted, _BATCH)):
            new = [block for block in blocks if block.id not in self._known]
            vectors = encoder.encode([text_of(block) for block in new]) if new else self._none
            if vectors.shape != (len(new), self._dimensions):
                raise CodeNavError(f"{encoder.name} made vectors of {self._dimensions} numbers, then others")
            made = iter(vectors)
            for block in blocks:
                row = self._known.get(block.id)
                self._rows.append(next(made) if row is None or self._kept is None else self._kept.vectors[row])
                facts = Facts(block.id, block.kind, block.path, callable_name(block), documents.worth(block))
                self.blocks.append(facts)
            self.new += len(new)
            spent = time.monotonic() - began
            if announced or spent <= _LONG:
                continue
            left = sum(count for kind, count in index.stats().kinds.items() if kind in KINDS) - len(self.blocks)
            if left > 0:
                announced = True
                minutes = math.ceil(left * spent / len(self.blocks) / 60)
                tell(
                    f"blocks are encoded before the first search with this encoder: {left:,} left, about {minutes} min"
                )

    def vectors(self) -> BlockVectors:
        """The vectors that there are so far."""
        whole = len(self.blocks)
        vectors: Floats = np.array(self._rows[:whole], dtype=np.float32).reshape(whole, self._dimensions)
        return BlockVectors(self.blocks, vectors)


def _read(path: Path, encoder: str, dimensions: int) -> tuple[str, BlockVectors] | None:
    """The state and the vectors of a file; None if it is not there or not whole, since it can be made again."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            head = json.loads(file["head"].tobytes())
            if head["format"] != FORMAT or head["encoder"] != encoder:
                return None
            vectors = file["vectors"].astype(np.float32)
            columns = head["ids"], file["kinds"], head["paths"], head["names"], file["worths"].tolist()
        blocks = [
            Facts(id, KINDS[kind], path, name, worth) for id, kind, path, name, worth in zip(*columns, strict=True)
        ]
        if vectors.shape != (len(blocks), dimensions) or not np.isfinite(vectors).all():
            return None
        return head["state"], BlockVectors(blocks, vectors)
    except Exception:
        # numpy and zipfile raise whatever a broken file makes them raise.
        return None


def _write(path: Path, made: BlockVectors, encoder: str, state: str) -> None:
    blocks = made.blocks
    head = {
        "format": FORMAT, "encoder": encoder, "state": state, "ids": [block.id for block in blocks],
        "paths": [block.path for block in blocks], "names": [block.name for block in blocks],
    }  # fmt: skip
    file = io.BytesIO()
    np.savez(
        file,
        head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
        kinds=np.array([KINDS.index(block.kind) for block in blocks], dtype=np.uint8),
        worths=made.worths,
        vectors=made.vectors.astype(np.float16),
    )
    write_whole(path, file.getvalue())
