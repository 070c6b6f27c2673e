"""Models that a user has named: the tables `[models.NAME]` of the configuration file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from codenav.core.errors import Unavailable, UsageError
from codenav.core.setting import setting, settings_of

LARGEST_CONTEXT = 100_000_000
"""Tokens: ten times the longest context that a model is sold with."""


@dataclass(frozen=True)
class NamedModel:
    """A model under a name of one's own, with its server, its key and what is sent with each request."""

    model: str = setting(
        "", "Name of the model on its server, or local:NAME, gguf:FILE.", unset="the name of the table"
    )
    base_url: str = setting("", "Server of the model.", unset="`base_url`")
    key: str = setting("", "Variable of the environment that holds the key of the server.", unset="OPENAI_API_KEY")
    max_tokens: int | None = setting(None, "Most tokens of one answer.", least=1, most=LARGEST_CONTEXT, unset="8192")
    temperature: float | None = setting(None, "Temperature of the answers.", least=0, most=2, unset="0")
    top_p: float | None = setting(None, "Share of the likeliest tokens to choose from.", least=0, most=1, unset="1")
    seed: int | None = setting(None, "Seed of the random choice.", least=0, unset="the server's")
    context: int | None = setting(
        None, "Tokens that the model reads and writes together.", least=512, most=LARGEST_CONTEXT,
        unset="learned from the server",
    )  # fmt: skip
    profile: str = setting("", "Prompts for it.", choices=("small", "full", "auto"), unset="`profile`")
    action_format: str = setting("", "Form of its actions.", choices=("text", "tools"), unset="`action_format`")
    price_in: float = setting(0.0, "Dollars of a million tokens read.", least=0)
    price_out: float = setting(0.0, "Dollars of a million tokens written.", least=0)

    @classmethod
    def of(cls, name: str, table: Any, where: str) -> Self:
        """Read a table of the configuration file.

        Raises:
            UsageError: it is no table, has an unknown key or a value out of range, or `key` is no name of a variable.
        """
        known = settings_of(NamedModel)
        if not isinstance(table, Mapping):
            raise UsageError(f"models.{name} in {where} is no table", hint=f"[models.{name}], with model = below it")
        unknown = next((key for key in table if key not in known), None)
        if unknown is not None:
            raise UsageError(f"unknown key 'models.{name}.{unknown}' in {where}", hint=f"one of {', '.join(known)}")
        variable = table.get("key", "")
        # It may be the secret itself, which is not repeated.
        if not (isinstance(variable, str) and re.fullmatch(r"([A-Za-z_]\w*)?", variable, re.ASCII)):
            raise UsageError(
                f"models.{name}.key in {where} is no name of a variable",
                hint='key = "BIG_KEY", and export BIG_KEY=… in the shell: no key stands in the file',
            )
        values = {key: known[key].parse(value, f"[models.{name}] of {where}") for key, value in table.items()}
        return cls(**{"model": name, **values})

    def secret(self) -> str:
        """Return the value of the key, empty if none is named.

        Raises:
            Unavailable: the variable is not set.
        """
        value = os.environ.get(self.key, "").strip() if self.key else ""
        if self.key and not value:
            # The name may be the key itself, written in the wrong place.
            raise Unavailable(
                f"the key of the model {self.model} has no value: the variable that its table names is not set",
                hint="export it in this shell",
            )
        return value
