"""Files of weights in the safetensors form: a length, a JSON header, then the numbers as they are in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codenav.core.errors import Unavailable

Weights = dict[str, npt.NDArray[np.float32]]

_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_HEADER = 100_000_000
"""Bytes of the longest header that the format allows."""


def read_weights(path: Path) -> Weights:
    """Return the arrays of a file by name, as float32. Arrays of whole numbers are left out.

    Raises:
        Unavailable: the file cannot be read, is cut short, or is not of this form.
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= _HEADER:
                raise ValueError("its header has no length")
            header = json.loads(file.read(length))
            data = file.read()
        return {
            name: _array(data[slice(*entry["data_offsets"])], entry["dtype"], entry["shape"])
            for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] in _KINDS
        }
    except OSError as error:
        raise Unavailable(f"cannot read {path}: {error.strerror or error}", hint="look at the file") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise Unavailable(
            f"{path} is no whole file of weights in the safetensors form", hint="copy the model's directory again"
        ) from error


def _array(piece: bytes, kind: str, shape: Sequence[int]) -> npt.NDArray[np.float32]:
    found: npt.NDArray[Any] = np.frombuffer(piece, _KINDS[kind])
    if kind == "BF16":
        # The upper half of a float32.
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return found.astype(np.float32).reshape(tuple(shape))


def write_weights(path: Path, weights: Weights) -> None:
    """Write arrays of float32.

    Raises:
        OSError: no room, or no permission.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    told = json.dumps(header).encode()
    told += b" " * (-len(told) % 8)
    with open(path, "wb") as file:
        file.write(len(told).to_bytes(8, "little") + told)
        for array in weights.values():
            file.write(array.astype("<f4").tobytes())
