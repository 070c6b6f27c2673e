"""The normalised form of tool specifications: all formats are read into it, and all other parts read nothing else.

Schemas in it are JSON Schema 2020-12. A `$ref` in one is `#/schemas/NAME`, into `ToolSpec.schemas`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from codenav.core.system.stored import Makers, Stored, all_of, any_of

Schema = Mapping[str, Any]


class Effect(StrEnum):
    """The kinds of operations by what they may change."""

    READ = "read"
    """GET, HEAD, OPTIONS; an MCP tool with `readOnlyHint`."""
    WRITE = "write"
    """POST, PUT, PATCH; an MCP tool that is declared not destructive; a function that says nothing."""
    DESTROY = "destroy"
    """All others."""

    @classmethod
    def of_method(cls, method: str) -> Effect:
        """Return the effect of a request with this method."""
        if method in ("GET", "HEAD", "OPTIONS", "TRACE", "QUERY"):
            return cls.READ
        return cls.WRITE if method in ("POST", "PUT", "PATCH") else cls.DESTROY


IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "QUERY"})
"""Methods whose request may be repeated. RFC 9110, section 9.2.2."""


@dataclass(frozen=True, slots=True)
class Parameter(Stored):
    """An argument of an operation."""

    name: str
    """Name in Python: an identifier, no keyword, unique in its operation."""
    wire: str
    """Name in the request."""
    place: str
    """`path`, `query`, `header`, `cookie`, `body` (a property of the body) or `content` (the whole body)."""
    schema: Schema = field(default_factory=dict)
    required: bool = False
    text: str = ""
    example: Any = None
    hint: str = ""
    """Where a request says the value."""
    style: str = ""
    """Of OpenAPI 3: `form`, `simple`, `label`, `matrix`, `deepObject`, `spaceDelimited`, `pipeDelimited`. Version 2's
    `collectionFormat` is converted; `tabDelimited` stands for its `tsv`."""
    explode: bool = False
    allow_reserved: bool = False
    content_type: str = ""
    """Media type of a parameter that is serialised by one, usually `application/json`; else empty."""


@dataclass(frozen=True, slots=True)
class Body(Stored):
    """The body of a request."""

    content_type: str
    """`application/json`, `application/x-www-form-urlencoded`, `multipart/form-data`, `text/plain`, …"""
    required: bool = False
    spread: bool = False
    """True if the parameters with place `body` are its properties; else one parameter with place `content` is it."""
    encoding: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """OpenAPI's encoding objects by property: `contentType`, `style`, `explode`, `headers`."""


@dataclass(frozen=True, slots=True)
class Link(Stored):
    """A statement of a specification that an answer gives what another operation takes."""

    operation: str
    """The operation that takes it: its id, or `METHOD /path`."""
    parameters: tuple[str, ...] = ()
    """Its parameters, by their names in the request; "" for its body."""

    made: ClassVar[Makers] = {"parameters": tuple}


@dataclass(frozen=True, slots=True)
class Operation(Stored):
    """An operation that can be called."""

    name: str
    """Name in Python, unique in its spec and stable: it does not depend on the operations after it."""
    id: str
    """Name in the spec: the operationId, else `METHOD /path`; the name of an MCP tool or function."""
    group: str = ""
    """Name of its `Group`."""
    title: str = ""
    """One line."""
    text: str = ""
    effect: Effect = Effect.WRITE
    idempotent: bool = False
    """True if the same request twice has the effect of one."""
    deprecated: bool = False
    method: str = ""
    """Upper case; empty if the operation is no HTTP request."""
    path: str = ""
    """Path template below the server's URL, or a whole URL."""
    servers: Sequence[str] = ()
    """URLs in place of those of the spec, best first; usually empty."""
    parameters: Sequence[Parameter] = ()
    """Required ones first."""
    body: Body | None = None
    security: Sequence[Sequence[str]] = ()
    """Alternatives, each a list of schemes that are needed together. An empty one means that none is needed; no
    alternatives mean the same."""
    scopes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Scopes of OAuth2 by scheme."""
    key_places: Mapping[str, str] = field(default_factory=dict)
    """Places of keys by scheme, where this operation carries one elsewhere than its scheme says."""
    result: Schema | None = None
    """Schema of a good answer; None if the spec has none."""
    result_types: Sequence[str] = ()
    """Media types of a good answer."""
    result_text: str = ""
    examples: Sequence[Mapping[str, Any]] = ()
    """Arguments of example calls, by the names in Python."""
    wrapped: bool = False
    """True if the value of an answer is the key `result` of what an MCP server sends."""
    unusable: str = ""
    """Why no call of it can succeed, as the end of a sentence; usually empty."""
    links: Sequence[Link] = ()
    """The operations that take what its answer gives, as far as the spec says so."""

    made: ClassVar[Makers] = {
        "effect": Effect, "parameters": all_of(Parameter), "body": any_of(Body), "links": all_of(Link),
        "servers": tuple, "security": lambda items: tuple(tuple(item) for item in items), "result_types": tuple,
        "examples": tuple,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group(Stored):
    """A tag or tool set: operations that belong together."""

    name: str
    """An identifier; `tools.SPEC.GROUP` can be imported."""
    title: str = ""
    text: str = ""
    intent: Sequence[str] = ()
    """Requests that it is for."""
    guidance: str = ""
    """How its tools go together."""
    examples: Sequence[Mapping[str, Any]] = ()

    made: ClassVar[Makers] = {"intent": tuple, "examples": tuple}


@dataclass(frozen=True, slots=True)
class Scheme(Stored):
    """A way to authenticate. Values are given with `--secret NAME=VARIABLE`."""

    name: str
    """Name in the spec: that of the security scheme, or of the parameter that carries a token."""
    type: str
    """`key`, `basic`, `bearer` or `oauth2` (client credentials)."""
    place: str = ""
    """Of a `key`: `header`, `query`, `cookie`, `path` or `body`."""
    wire: str = ""
    """Of a `key`: name in the request."""
    prefix: str = ""
    """Text before the value, such as `Bot `."""
    token_url: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec(Stored):
    """The operations of one source, and what they share."""

    name: str
    """Name of the package of stubs, `tools.NAME`: an identifier."""
    format: str
    """`openapi`, `mcp` or `tools`."""
    title: str = ""
    version: str = ""
    text: str = ""
    servers: Sequence[str] = ()
    """Base URLs, variables filled in, best first. A relative one is kept where the document has no address."""
    address: str = ""
    """URL of its document, without a password in it; empty if that is a file of this machine."""
    allow_private: bool = False
    """Its servers may be in a private network."""
    groups: Sequence[Group] = ()
    schemes: Sequence[Scheme] = ()
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    operations: Sequence[Operation] = ()
    transport: Mapping[str, Any] = field(default_factory=dict)
    """Of MCP: `command` with a list of texts and the `folder` to run it in, or `url`; else empty."""
    notes: Sequence[str] = ()
    """Sentences on what was left out or repaired."""

    made: ClassVar[Makers] = {
        "servers": tuple, "groups": all_of(Group), "schemes": all_of(Scheme), "operations": all_of(Operation),
        "notes": tuple,
    }  # fmt: skip
