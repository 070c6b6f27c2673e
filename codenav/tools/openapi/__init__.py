"""OpenAPI 2.0 to 3.2 as tool specifications."""

from codenav.tools.openapi.reading import read_openapi

__all__ = ["read_openapi"]
