"""Frames: two big-endian lengths, a JSON object, a blob. No pickle; sizes are checked before memory is taken."""

from __future__ import annotations

import json
import os
import struct
from typing import Any, Dict, Tuple

HEADER = struct.Struct(">II")
JSON_BYTES = 16 << 20
"""Largest JSON part of a frame."""
BLOB_BYTES = 64 << 20
"""Largest blob of a frame."""

Message = Dict[str, Any]
Frame = Tuple[Message, bytes]


_to_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_from_json = json.JSONDecoder().decode


class Violation(Exception):
    """What came in is not a frame."""


def encode(message: Message, blob: bytes = b"") -> bytes:
    """One frame. Lone surrogates travel as escapes."""
    body = _to_json(message).encode("ascii")
    return HEADER.pack(len(body), len(blob)) + body + blob


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self, *, json_bytes: int = JSON_BYTES, blob_bytes: int = BLOB_BYTES) -> None:
        self._buffer = bytearray()
        self._most = json_bytes, blob_bytes

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete with `data`.

        Raises:
            Violation: a length is over its limit, or the JSON part is not an object.
        """
        self._buffer += data
        found: list[Frame] = []
        while True:
            frame = self._next()
            if frame is None:
                return found
            found.append(frame)

    def _next(self) -> Frame | None:
        if len(self._buffer) < HEADER.size:
            return None
        body, blob = HEADER.unpack_from(self._buffer)
        if body > self._most[0] or blob > self._most[1]:
            raise Violation(f"a frame of {body + blob} bytes")
        end = HEADER.size + body + blob
        if len(self._buffer) < end:
            return None
        text = bytes(self._buffer[HEADER.size : HEADER.size + body])
        attached = bytes(self._buffer[HEADER.size + body : end])
        del self._buffer[:end]
        return _object(text), attached


def _object(text: bytes) -> Message:
    try:
        message = _from_json(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Violation(f"not JSON: {type(error).__name__}") from None
    if not isinstance(message, dict):
        raise Violation("not an object")
    return message


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
