"""Python values as JSON, to exchange them with a sandbox without pickle: see `guest/guest_plain.py`."""

from __future__ import annotations

import json
import keyword
from typing import Any

from codenav.core.errors import UsageError
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.shared import plain


def checked_name(name: str) -> str:
    """Return a name after checking that code can use it for a variable.

    Raises:
        UsageError: it cannot be used.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"{name!r} is not the name of a variable", hint='such as box.set("x", 1)')
    return name


def checked_code(code: str) -> str:
    """Return the code of a step after checking that it is a string.

    Raises:
        UsageError: it is of another type.
    """
    if not isinstance(code, str):
        raise UsageError(f"the code of a step is a {type(code).__name__}", hint='such as box.run("x = 1")')
    return code


def encoded(value: Any) -> str:
    """Encode a value as JSON.

    Raises:
        UsageError: a type in it cannot be sent, or it is too large or nested too deeply.
    """
    try:
        return json.dumps(plain.encode(value), separators=(",", ":"), allow_nan=False)
    except plain.Unfit as error:
        raise UsageError(f"the value cannot be sent: {error}", hint="send lists and dicts, or a file") from None


def decoded(value: Any) -> Any:
    """Decode a value that came from inside as JSON types.

    Raises:
        Malformed: it was not encoded this way.
    """
    try:
        return plain.decode(value)
    except plain.FAULTS as error:
        raise Malformed(f"a value that is none: {type(error).__name__}") from None
