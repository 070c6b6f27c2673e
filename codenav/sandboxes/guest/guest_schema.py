"""The shape of what is said between guest and host, for both ends: the host loads this file too."""

from __future__ import annotations

import re

MOST_CALLS = 1000
"""Calls to the host in one step."""
CALL_BYTES = 1 << 20
"""Of the arguments of a call, and of its result, as JSON."""
CALL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/\-]{0,199}")
"""What a call may be named: `petstore.find_pet`."""
CALL_ERROR_CHARACTERS = 4000
"""Of the message of a call that failed."""
