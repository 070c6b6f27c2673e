"""Formats of texts and numbers that arguments are checked for. An unknown format allows everything."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from jsonschema import FormatChecker

FORMATS = FormatChecker(formats=())
_HOST = re.compile(r"(?=.{1,253}\.?$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9-]{1,63})*\.?")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?")


def _texts(name: str) -> Callable[[Callable[[str], Any]], None]:
    """Register a check of texts; it returns False or raises ValueError where the text is none of the format."""

    def register(check: Callable[[str], Any]) -> None:
        FORMATS.checks(name, raises=ValueError)(lambda value: not isinstance(value, str) or check(value) is not False)

    return register


@_texts("date")
def _date(text: str) -> bool:
    datetime.date.fromisoformat(text)
    return len(text) == 10


@_texts("date-time")
def _date_time(text: str) -> bool:
    # A leap second is a time that `datetime` has none for.
    datetime.datetime.fromisoformat(re.sub(r":60(?=\D|$)", ":59", text.upper().replace(" ", "T")))
    return _MOMENT.fullmatch(text) is not None


@_texts("time")
def _time(text: str) -> bool:
    datetime.time.fromisoformat(re.sub(r":60(?=\D|$)", ":59", text.upper()))
    return _TIME.fullmatch(text) is not None


@_texts("email")
def _email(text: str) -> bool:
    return _MAIL.fullmatch(text) is not None


@_texts("uuid")
def _uuid(text: str) -> bool:
    return str(uuid.UUID(text)) == text.lower()


@_texts("ipv4")
def _ipv4(text: str) -> None:
    ipaddress.IPv4Address(text)


@_texts("ipv6")
def _ipv6(text: str) -> None:
    ipaddress.IPv6Address(text)


@_texts("hostname")
def _hostname(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


@_texts("uri")
def _uri(text: str) -> bool:
    return bool(urlsplit(text).scheme) and not re.search(r"\s", text)


@_texts("byte")
def _byte(text: str) -> None:
    base64.b64decode(text, validate=True)


def _whole(bits: int) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return -(1 << (bits - 1)) <= value < 1 << (bits - 1)

    return check


for _bits in (32, 64):
    FORMATS.checks(f"int{_bits}")(_whole(_bits))
