"""Model servers that already run on this machine, found at the usual ports of the programs that are common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from codenav.agents.models.faults import Fault
from codenav.agents.models.transport import Transport

PORTS: Mapping[int, str] = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
"""The default port of each program."""
SECONDS = 1.0
"""For the list of one server: on the loopback interface one that is up answers within milliseconds."""


@dataclass(frozen=True)
class Neighbour:
    """A server that lists its models."""

    program: str
    """The program whose usual port it is at; it may be another."""
    url: str
    """The base URL, as `--base-url` takes it."""
    models: list[str]


def neighbours(ports: Mapping[int, str] = PORTS) -> Iterator[Neighbour]:
    """The servers at those ports of the loopback interface; they are asked for the names of their models only."""
    for port, program in ports.items():
        transport = Transport(f"http://127.0.0.1:{port}/v1", "none", secret=False)
        try:
            listed = transport.models(seconds=SECONDS)
        finally:
            transport.close()
        if not isinstance(listed, Fault):
            yield Neighbour(program, f"http://localhost:{port}/v1", listed)
