"""Frames: two big-endian lengths, a JSON object, a blob. No pickle; sizes are checked before memory is taken.

Both ends use this file; it imports the standard library alone.
"""

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


class Violation(Exception):
    """Input that is not a frame, or not of the promised shape."""


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


to_json = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
from_json = json.JSONDecoder(parse_constant=_no_constant).decode
"""Both are made once: `json.loads` would make a decoder for each frame."""


def encode(message: Message, blob: bytes = b"") -> bytes:
    """A frame as bytes. Lone surrogates travel as escapes."""
    body = to_json(message).encode("ascii")
    return HEADER.pack(len(body), len(blob)) + body + blob


def message_of(data: bytes) -> Message:
    """The JSON part of a frame.

    Raises:
        Violation: it is not an object.
    """
    try:
        message = from_json(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Violation(f"not JSON: {type(error).__name__}") from None
    if not isinstance(message, dict):
        raise Violation("not an object")
    return message


class Frames:
    """A parser that cuts a stream of bytes into frames."""

    def __init__(self, *, json_bytes: int = JSON_BYTES, blob_bytes: int = BLOB_BYTES) -> None:
        self._buffer = bytearray()
        self._most = json_bytes, blob_bytes

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes, and return the frames that are complete with them. Raises Violation."""
        self.add(data)
        found: list[Frame] = []
        while True:
            frame = self.take()
            if frame is None:
                return found
            found.append(frame)

    def add(self, data: bytes) -> None:
        """Add bytes as they came."""
        self._buffer += data

    def take(self) -> Frame | None:
        """Take the next frame; None where it has not come whole.

        Raises:
            Violation: a length is over its limit, or the JSON part is not an object.
        """
        if len(self._buffer) < HEADER.size:
            return None
        body, blob = HEADER.unpack_from(self._buffer)
        if body > self._most[0] or blob > self._most[1]:
            raise Violation(f"a frame of {body + blob} bytes")
        middle, end = HEADER.size + body, HEADER.size + body + blob
        if len(self._buffer) < end:
            return None
        text, attached = bytes(self._buffer[HEADER.size : middle]), bytes(self._buffer[middle:end])
        del self._buffer[:end]
        return message_of(text), attached


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
