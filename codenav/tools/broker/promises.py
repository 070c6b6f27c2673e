"""Answers against the schemas that a specification promises for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codenav.core.system.terminal_text import flattened, neutral
from codenav.tools.model import Operation, Schema

MESSAGE_CHARACTERS = 120


class Promises:
    """The schemas of the answers of one specification. Each is compiled when it is first asked for."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        self._validators: dict[str, Any] = {}

    def broken(self, operation: Operation, value: Any) -> str:
        """Return how an answer differs from its schema, in one line; empty if it does not, or there is none."""
        if not operation.result:
            return ""
        if operation.name not in self._validators:
            self._validators[operation.name] = self._validator(operation.result)
        validator = self._validators[operation.name]
        if validator is None:
            return ""
        try:
            problem = next(iter(validator.iter_errors(value)), None)
        except (ValueError, RecursionError):
            return ""
        if problem is None:
            return ""
        where = "".join(f"[{part!r}]" for part in problem.instance_path)
        told = flattened(neutral(f"{where}: {problem.message}" if where else problem.message), MESSAGE_CHARACTERS)
        return f"not what the specification promises: {told}"

    def _validator(self, schema: Schema) -> Any:
        import jsonschema_rs

        try:
            return jsonschema_rs.validator_for({"schemas": dict(self._schemas), **schema})
        except (ValueError, TypeError):
            # A schema that is none promises nothing.
            return None
