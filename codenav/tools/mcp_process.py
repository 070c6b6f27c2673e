"""Transport of messages to an MCP server that is a process of this machine: one JSON text a line, on its two pipes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import jsonrpc_message_adapter

from codenav.core.errors import CodeNavError, NotFound
from codenav.tools import mcp_keeper
from codenav.tools.mcp_answers import McpUnavailable, shortened

CLOSE_SECONDS = 1.0
"""Time for a server to end once its input is closed, before it is told to."""
ERROR_CHARACTERS = 4000
"""Most characters of standard error that are kept."""
_CHUNK = 65536
_MESSAGE = re.compile(rb'\{\s*"')
_MOST_STARTS = 20
"""Places in a line where a message may begin."""

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class ServerProcess:
    """The process of an MCP server. `streams()` runs it and is the transport for the protocol's client."""

    def __init__(
        self,
        command: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        limit: int,
        too_long: Callable[[], None],
    ) -> None:
        """Set up a server that is not running yet.

        Args:
            command: Program and arguments.
            folder: The folder to run it in; empty for the current one.
            environment: All variables that the server gets.
            limit: Most bytes of a message.
            too_long: Called when a message is longer. It is left out.
        """
        self._command, self._folder, self._environment = command, folder, environment
        self._limit, self._too_long = limit, too_long
        self._process: asyncio.subprocess.Process | None = None
        self._errors = bytearray()
        self.garbage = ""
        """The start of the first text on standard output that is no message; empty if there was none."""
        self.garbage_bytes = 0
        self.ended = asyncio.Event()
        """Set when standard output is closed: a server ends by that, or has ended."""

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the server runs or was not started."""
        return self._process.returncode if self._process else None

    @property
    def last_words(self) -> str:
        """The last line on standard error that is not empty."""
        lines = self._errors.decode("utf-8", "replace").split("\n")
        return next((shortened(line) for line in reversed(lines) if line.strip()), "")

    def fault(self, where: str, when: str) -> CodeNavError | None:
        """Return the failure of a server that has ended or prints other things than messages; None if neither is so.

        Args:
            where: The server as messages name it.
            when: Words for the time: `during the call`.
        """
        if self.ended.is_set():
            code = self.exit_code
            if code == mcp_keeper.NOT_STARTED:
                told = f"there is no program to start the MCP server {where} with: {self.last_words}"
                return NotFound(told, hint="check the command, or give the whole path of the program")
            ended = "closed its standard output" if code is None else f"ended with exit code {code}"
            said = self.last_words or self.garbage
            return McpUnavailable(f"the MCP server {where} {ended} {when}" + (f": {said}" if said else ""))
        if self.garbage:
            return McpUnavailable(
                f"the MCP server {where} prints text in place of messages on its standard output: {self.garbage!r}",
                hint="have it print to standard error",
            )
        return None

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Run the server for as long as the context is open. Nothing that it started is left afterwards.

        Raises:
            OSError: no process can be started.
        """
        keeper = [sys.executable, "-I", "-S", str(Path(mcp_keeper.__file__)), str(os.getpid())]
        process = self._process = await asyncio.create_subprocess_exec(
            *keeper, *self._command, env=dict(self._environment), cwd=self._folder or None,
            start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        received, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, queue = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as group, received, messages, outgoing, queue:
                group.start_soon(self._receive, process, received)
                group.start_soon(self._send, process, queue)
                group.start_soon(self._listen, process)
                yield messages, outgoing
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)

    async def _receive(
        self, process: asyncio.subprocess.Process, received: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Pass messages on, and leave out all other text."""
        assert process.stdout is not None
        parts: list[bytes] = []
        size = 0
        async with received:
            while chunk := await process.stdout.read(_CHUNK):
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    if size + len(end) <= self._limit:
                        message = self._parsed(b"".join((*parts, end)))
                        if message is not None:
                            await received.send(message)
                    elif size <= self._limit:
                        self._too_long()
                    parts, size = [], 0
                if size <= self._limit < size + len(rest):
                    self._too_long()
                    parts = []
                size += len(rest)
                if size <= self._limit and rest:
                    parts.append(rest)
                if self.garbage_bytes > self._limit:
                    break
            await self._settle(process)
            self.ended.set()

    def _parsed(self, line: bytes) -> SessionMessage | None:
        if not line.strip():
            return None
        # What a server prints without an end of line stands before the message that follows.
        for start in (0, *(match.start() for match in islice(_MESSAGE.finditer(line, 1), _MOST_STARTS))):
            try:
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line[start:], by_name=False))
            except ValueError:
                continue
            if start:
                self._skip(line[:start])
            self.garbage_bytes = 0
            return message
        self._skip(line)
        return None

    def _skip(self, text: bytes) -> None:
        self.garbage = self.garbage or shortened(text[:1000].decode("utf-8", "replace"))
        self.garbage_bytes += len(text)

    async def _settle(self, process: asyncio.subprocess.Process) -> None:
        """Wait a moment for the exit code and for the last lines of standard error, which messages quote."""
        with anyio.move_on_after(0.5):
            while process.returncode is None:
                await anyio.sleep(0.005)

    async def _send(
        self, process: asyncio.subprocess.Process, queue: MemoryObjectReceiveStream[SessionMessage]
    ) -> None:
        assert process.stdin is not None
        async with queue:
            # A server that has ended is noticed by its output.
            with contextlib.suppress(ConnectionError):
                async for item in queue:
                    process.stdin.write(
                        item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                    )
                    await process.stdin.drain()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(_CHUNK):
            self._errors += chunk
            del self._errors[:-ERROR_CHARACTERS]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the server's input, wait, have the keeper end everything, and close the pipes."""
    assert process.stdin is not None
    process.stdin.close()
    # The keeper kills what is left after its own time of grace.
    for seconds, force in ((CLOSE_SECONDS, process.terminate), (mcp_keeper.GRACE_SECONDS + 1.0, process.kill)):
        if await _ended(process, seconds):
            break
        with contextlib.suppress(ProcessLookupError):
            force()
    await _ended(process, 1.0)
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        # Its pipes stay open, with a warning, while a descriptor is held elsewhere; nothing public closes them.
        transport.close()
    await asyncio.sleep(0)


async def _ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """True once the process has ended. `Process.wait` would also wait for the end of its pipes, which nobody reads."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(0.005)
    return process.returncode is not None
