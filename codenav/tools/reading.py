"""The readers of tool specifications by kind of source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from codenav.core.errors import MissingExtra

if TYPE_CHECKING:
    from codenav.tools.model import ToolSpec

EXTRA = frozenset({"httpx2", "jsonschema", "jsonschema_rs", "mcp", "openapi_spec_validator", "yaml"})
"""Modules of the extra `tools`."""


_SERVERS: ContextVar[Mapping[str, str]] = ContextVar("secrets of servers", default={})  # noqa: B039 - never changed


@contextmanager
def asking_with(secrets: Mapping[str, str]) -> Iterator[None]:
    """Give secrets, by name, to the MCP servers that are asked within this context: see `environment` of `read_mcp`.

    Those of a context around it are given, too. Those with a point in their name (`SPEC.NAME`) are for one
    specification only, and not given.
    """
    own = {name: value for name, value in secrets.items() if "." not in name}
    token = _SERVERS.set({**_SERVERS.get(), **own})
    try:
        yield
    finally:
        _SERVERS.reset(token)


def read_spec(source: str, *, allow_private: bool = False) -> ToolSpec:
    """Read the specification behind `openapi:FILE|URL`, `mcp:COMMAND|URL` or `tools:FILE|URL`.

    An MCP server that is asked gets the secrets of `asking_with`.

    Raises:
        NotFound: no such file, or the server does not know the address.
        UsageError: it is no specification, or one that cannot be read; the message names the place.
        Unavailable: a server does not answer or refuses, or an MCP server does not start.
        MissingExtra: the extra `tools` is not installed.
    """
    kind, _, where = source.partition(":")
    try:
        if kind == "openapi":
            from codenav.tools.openapi import read_openapi

            return _placed(read_openapi(where, allow_private=allow_private), where, allow_private)
        if kind == "mcp":
            from codenav.tools.mcp_reading import read_mcp

            return read_mcp(where, environment=_SERVERS.get())
        from codenav.tools.functions import read_functions

        return _placed(read_functions(where, allow_private=allow_private), where, allow_private)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in EXTRA:
            raise MissingExtra("the reader of tool specifications", "tools") from error
        raise


def _placed(spec: ToolSpec, where: str, allow_private: bool) -> ToolSpec:
    from codenav.tools.addresses import bare, is_url

    return replace(spec, address=bare(where) if is_url(where) else "", allow_private=allow_private)
