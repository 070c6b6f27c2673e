"""Tools: operations of services and of other programs, as ordinary Python.

In: a specification (OpenAPI, MCP, JSON function schemas, a tool set), and the calls of its stubs.
Out: stubs and blocks of the operations; an answer for each call, by the broker.
May import: `core`.
"""
