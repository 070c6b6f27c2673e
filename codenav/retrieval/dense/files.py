"""A trained retriever as a directory.

retriever.json  kind, format, base (hash of the shipped vectors), dimensions, weights (null after `docstrings`),
                trained (what on), measured (before and after), files (bytes and hash of each)
tokens.txt      words, and stems with a `#` in front, one a line
vectors.npy     a row of 256 numbers (float16) for each of them; other words are as shipped
memory.npz      stems with their rarity, the requests as sparse rows of these, names of callables, coefficients;
                not there after `docstrings`
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codenav.core.errors import NotFound, StorageFull, Unavailable, UsageError
from codenav.core.system.atomic_files import whole_folder
from codenav.retrieval.dense.fitting import Weights
from codenav.retrieval.dense.making import Made
from codenav.retrieval.dense.memory import Memory
from codenav.retrieval.dense.words import DIMENSIONS, StaticEncoder, WordVectors, base

FORMAT = 1
"""The version of the directory's form. A higher one was written by a newer codenav."""
DESCRIPTION, TOKENS, VECTORS, MEMORY = "retriever.json", "tokens.txt", "vectors.npy", "memory.npz"
KIND = "codenav-retriever"
AGAIN = "train it again: codenav train-retriever"


@dataclass(frozen=True)
class Retriever:
    """A trained retriever, as read from its directory."""

    encoder: StaticEncoder
    memory: Memory | None
    """The memory of what answered the training requests; None if it was trained on docstrings."""
    weights: Weights | None
    """The shares of words, meaning and memory; None if they are not known."""
    described: Mapping[str, Any]
    """The content of `retriever.json`."""


def is_retriever(folder: Path) -> bool:
    """True if a directory looks like a trained retriever, whole or not."""
    return (folder / DESCRIPTION).is_file()


def check_free(folder: Path) -> None:
    """Check that a retriever may be written to a directory, before it is trained.

    Raises:
        UsageError: something else is there.
    """
    if folder.is_dir() and not is_retriever(folder) and any(folder.iterdir()):
        raise UsageError(f"{folder} holds something else than a retriever", hint="name a new directory with --out")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", hint="name a new directory with --out")


def write(made: Made, folder: Path, *, trained: Mapping[str, Any]) -> None:
    """Write a retriever, whole or not at all; an older one in its place is replaced.

    `trained` tells what it was trained on: `from`, `sources`, `at`.

    Raises:
        UsageError: something else is there.
        StorageFull: it cannot be written.
    """
    check_free(folder)
    files = {TOKENS: "".join(f"{token}\n" for token in made.vectors.tokens).encode()}
    files[VECTORS] = _packed(made.vectors.rows[1:].astype(np.float16))
    if made.memory is not None:
        files[MEMORY] = _packed_memory(made.memory)
    report = made.report
    described = {
        "kind": KIND,
        "format": FORMAT,
        "base": base(),
        "dimensions": DIMENSIONS,
        "weights": asdict(made.weights) if made.weights else None,
        "trained": {**trained, "requests": report.requests, "callables": report.callables, "seconds": report.seconds},
        "measured": {
            "held_out": report.held_out, "before": dict(report.before), "after": dict(report.after),
        },
        "files": {name: {"bytes": len(data), "blake2b": _hash(data)} for name, data in files.items()},
    }  # fmt: skip
    files[DESCRIPTION] = (json.dumps(described, indent=2) + "\n").encode()
    try:
        with whole_folder(folder) as beside:
            for name, data in files.items():
                (beside / name).write_bytes(data)
    except OSError as error:
        raise StorageFull(
            f"cannot write {folder}: {error.strerror or error}",
            hint="free some space, or name another directory with --out",
        ) from error


def read(folder: str | Path) -> Retriever:
    """Read a retriever from its directory.

    Raises:
        NotFound: there is no such directory.
        UsageError: it holds something else.
        Unavailable: it is not whole, is of a newer codenav, or was trained from other vectors of words.
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise NotFound(f"no such directory: {folder}", hint="one that codenav train-retriever wrote")
    if not is_retriever(folder):
        raise UsageError(
            f"{folder} holds no retriever: {DESCRIPTION} is missing", hint="one that codenav train-retriever wrote"
        )
    described = _described(folder)
    try:
        data = {name: (folder / name).read_bytes() for name in described["files"]}
        names = data[TOKENS].decode().split("\n")[:-1]
        vectors = np.load(io.BytesIO(data[VECTORS]), allow_pickle=False)
        if vectors.shape != (len(names), DIMENSIONS) or vectors.dtype.kind != "f":
            raise ValueError(f"vectors of the shape {vectors.shape} for {len(names)} words")
        if not np.isfinite(vectors).all():
            raise ValueError("vectors that are not finite")
        memory = _memory(data[MEMORY]) if MEMORY in data else None
        weights = Weights(**described["weights"]) if described["weights"] else None
        name = f"words:{_hash(data[VECTORS])}"
    except OSError as error:
        raise Unavailable(f"{folder} is not whole: {error.strerror or error}: {error.filename}", hint=AGAIN) from error
    except Exception as error:
        # numpy and zipfile raise whatever a broken file makes them raise.
        raise Unavailable(f"{folder} does not fit together: {error}", hint=AGAIN) from error
    encoder = StaticEncoder(WordVectors(names, vectors.astype(np.float32)), name=name)
    return Retriever(encoder, memory, weights, described)


def _described(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unavailable(f"cannot read {path}: {error.strerror or error}", hint=AGAIN) from error
    except (ValueError, RecursionError) as error:
        raise Unavailable(f"{path} is cut short or is not JSON", hint=AGAIN) from error
    if not isinstance(found, dict) or found.get("kind") != KIND or not isinstance(found.get("format"), int):
        raise Unavailable(f"{path} describes no retriever", hint=AGAIN)
    if found["format"] > FORMAT:
        raise Unavailable(
            f"{folder} was written by a newer codenav (format {found['format']}; this one reads up to {FORMAT})",
            hint="pip install --upgrade codenav-agent",
        )
    if found.get("base") != base() or found.get("dimensions") != DIMENSIONS:
        raise Unavailable(f"{folder} was trained from other vectors of words than this codenav has", hint=AGAIN)
    entries = found.get("files")
    try:
        if found.get("weights") is not None:
            Weights.read(found["weights"])
    except ValueError as error:
        raise Unavailable(f"{path} lacks weights or files", hint=AGAIN) from error
    if not isinstance(entries, dict) or not {TOKENS, VECTORS} <= set(entries) <= {TOKENS, VECTORS, MEMORY}:
        raise Unavailable(f"{path} lacks weights or files", hint=AGAIN)
    return found


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _packed(array: npt.NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _packed_memory(memory: Memory) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(
        file,
        terms=_lines(list(memory.terms)),
        rarity=np.array(list(memory.terms.values()), dtype=np.float32),
        starts=memory.starts.astype(np.int32),
        columns=memory.columns.astype(np.int32),
        values=memory.values,
        names=_lines(memory.names),
        shares=memory.shares.astype(np.float16),
    )
    return file.getvalue()


def _memory(data: bytes) -> Memory:
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        terms, names = _split(found["terms"]), _split(found["names"])
        starts, columns = found["starts"].astype(np.intp), found["columns"].astype(np.intp)
        values, shares = found["values"].astype(np.float32), found["shares"].astype(np.float32)
        rarity = found["rarity"].astype(np.float32)
    memory = Memory(dict(zip(terms, rarity.tolist(), strict=True)), starts, columns, values, names, shares)
    if not np.isfinite(memory.scores(" ".join(terms[:10]))).all():
        raise ValueError(f"the numbers of {MEMORY} are not finite")
    return memory


def _lines(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)


def _split(data: npt.NDArray[np.uint8]) -> list[str]:
    text = data.tobytes().decode()
    return text.split("\n") if text else []
