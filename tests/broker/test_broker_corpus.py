"""The containment cases of tools can fail: with a broker that believes what the code says, most of them do."""

from __future__ import annotations

import base64
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from codenav.broker.bench import Bench
from codenav.execution import SandboxSpec, ToolCall
from codenav.sandboxes import start
from codenav.sandboxes.conformance import CASES, run_corpus
from codenav.system.interpreter import find_interpreter


class Naive:
    """A broker that sends what it is told to, with the key, wherever an answer sends on to."""

    def __init__(self, url: str, folder: Path, secret: str) -> None:
        bench = Bench(url, folder, secret)
        bench.close()
        self.stubs, self._url, self._secret = bench.stubs, url, secret
        self.called: list[ToolCall] = []

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        given = arguments.get("arguments") or {}
        given = given if isinstance(given, dict) else {}
        path = {"get_item": "/items/", "tell": "/tell", "away": "/away", "slow_write": "/slow"}.get(
            name.rpartition("/")[2], "/items"
        )
        path += str(given.get("item", ""))
        data = b"x" if "text" in given or path in ("/items", "/slow") else None
        request = urllib.request.Request(self._url + path, data=data, headers={"X-Key": self._secret})
        self.called.append(ToolCall(name, {"key": self._secret}))
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                body = answer.read()
        except (urllib.error.URLError, ValueError, OSError) as error:
            return {"refused": str(error)}
        if name.endswith("named"):
            return {"file": {"name": given["name"], "type": "", "data": base64.b64encode(body).decode()}}
        return {"value": {"ok": True, "body": body.decode("latin-1"), "key": self._secret}}

    def close(self) -> None:
        """Nothing to end."""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_a_naive_broker_fails_most_cases() -> None:
    tools = [id for id in CASES if id.startswith("T")]
    rows = list(
        run_corpus(
            lambda spec, calls=None: start("bubblewrap", spec, calls=calls),
            SandboxSpec(find_interpreter()),
            [id for id in tools if id not in ("T2", "T3", "T9", "T10", "T11")],
            start_tools=Naive,
        )
    )
    # Of the others, sandbox and stub hold their part alone: forged frames, calls after the step, names of files.
    assert {row.name.partition(":")[0] for row in rows if row.ok} == set()
    assert len(rows) == len(tools) - 5
