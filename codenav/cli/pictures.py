"""The pictures of a run: named, and shown where the terminal can show them."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import click

from codenav.cli.options import say
from codenav.core.actions import CodeObservation
from codenav.episodes.products import Product
from codenav.episodes.record import EpisodeResult

LARGEST = 5 << 20
"""Bytes of the largest picture that is sent to a terminal."""
CHUNK = 4096
"""Characters of one piece of a picture in kitty's protocol."""
PNG, JPEG = b"\x89PNG\r\n", b"\xff\xd8\xff"


def tell_pictures(result: EpisodeResult) -> None:
    """Name the pictures of a run on stderr, and show them."""
    for one in result.outputs:
        if one.kind == "picture":
            say(f"Picture: {one.path or f'{one.name}: codenav episodes show {result.id} --notebook FILE'}", err=True)
            if sys.stderr.isatty() and (shown := escapes(_data(one, result), os.environ)):
                click.echo(shown, err=True)


def escapes(data: bytes, environment: Mapping[str, str]) -> str:
    """The sequences that show a PNG or JPEG; empty for another format, or where the terminal shows no pictures.

    kitty's graphics protocol has PNG alone; iTerm2's inline images are also those of WezTerm.
    """
    kitty = "KITTY_WINDOW_ID" in environment or environment.get("TERM") in ("xterm-kitty", "xterm-ghostty")
    iterm = environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm") or environment.get("LC_TERMINAL") == "iTerm2"
    text = base64.b64encode(data).decode("ascii")
    if kitty and data.startswith(PNG):
        return "".join(_pieces(text))
    if iterm and data.startswith((PNG, JPEG)):
        return f"\x1b]1337;File=inline=1;size={len(data)}:{text}\x07"
    return ""


def _pieces(text: str) -> Iterator[str]:
    for place in range(0, len(text), CHUNK):
        begin, more = "a=T,f=100," if place == 0 else "", int(place + CHUNK < len(text))
        yield f"\x1b_G{begin}m={more};{text[place : place + CHUNK]}\x1b\\"


def _data(picture: Product, result: EpisodeResult) -> bytes:
    """The bytes of a picture: of a file in the work folder, or of what a step displayed; none if it is too large."""
    data = b""
    if picture.path:
        with suppress(OSError):
            file = Path(picture.path)
            data = file.read_bytes() if file.is_file() and file.stat().st_size <= LARGEST else b""
    else:
        shown = (step.observation for step in result.steps if step.number == picture.step)
        displays = [one for seen in shown if isinstance(seen, CodeObservation) for one in seen.execution.displays]
        data = displays[int(picture.name.rpartition(" ")[2]) - 1].data
    return data if len(data) <= LARGEST else b""
