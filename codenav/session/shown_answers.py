"""The answers of tools as observations show them: bounded, by rules or with the help of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from codenav.core.options import ToolOptions
from codenav.core.protocols import Model
from codenav.tools.broker.compress import Compressor
from codenav.tools.model import Operation, Schema
from codenav.tools.state_files import OPERATIONS, read_operation, read_spec_of, read_summary


class Shortener:
    """A function of an operation, the request of the run and an answer that returns the answer's bounded text."""

    def __init__(self, folders: Sequence[Path], options: ToolOptions, open_model: Callable[[str], Model]) -> None:
        """`folders` are the states of the tool sources. `open_model` opens the model that `options` name, if any.

        Raises:
            ModelNotConfigured, ModelRefused, NotFound, UsageError: raised by `open_model`.
        """
        named = options.compress
        self._opened = open_model(named) if isinstance(named, str) and named else None
        model = self._opened if isinstance(named, str) else named
        self._compressor = Compressor(options.answer_characters, model)
        self._paths = [(folder, read_summary(folder).operations) for folder in folders]
        self._schemas: dict[Path, Mapping[str, Schema]] = {}

    def __call__(self, operation: Operation, request: str, value: object) -> str:
        return self._compressor(operation, self._schemas_of(operation), request, value)

    def close(self) -> None:
        """Close the model that this has opened. Safe to call twice."""
        if self._opened is not None:
            self._opened.close()

    def _schemas_of(self, operation: Operation) -> Mapping[str, Schema]:
        folders = [(folder, paths[operation.name]) for folder, paths in self._paths if operation.name in paths]
        for folder, path in folders:
            if len(folders) == 1 or read_operation(folder / OPERATIONS / path) == operation:
                if folder not in self._schemas:
                    self._schemas[folder] = read_spec_of(folder, names=()).schemas
                return self._schemas[folder]
        return {}
