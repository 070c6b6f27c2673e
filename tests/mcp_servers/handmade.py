"""An MCP server of the older era by hand, over stdio: it knows the version 2025-11-25 only, and misbehaves on demand.

Arguments are the ways: `garbage` prints text between messages, `before` in front of them, `flood` prints nothing else,
`deaf` answers nothing, `stubborn` ignores the end of its input and SIGTERM, `child` starts a process that outlives it,
`paged` lists one tool a page, `endless` has no last page, `more` has tools with wrapped answers and tasks, `broken`
lists what is no tool, `exits` ends at once, `slow` takes a second to start.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

ways = set(sys.argv[1:])
tools = [
    {"name": "add", "description": "Add numbers.", "inputSchema": {
        "type": "object", "properties": {"a": {"$ref": "#/definitions/n"}, "b": {"$ref": "#/definitions/n"}},
        "required": ["a", "b"], "definitions": {"n": {"type": "integer", "minimum": 0}},
    }, "annotations": {"readOnlyHint": True}},
    {"name": "die", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Ask the client.", "inputSchema": {
        "type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}},
    {"name": "grow", "description": "Add a tool to the list.", "inputSchema": {"type": "object"}},
    {"name": "variables", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": False}},
    {"name": "pid", "inputSchema": {"type": "object"}},
]  # fmt: skip

WRAPPED = {"type": "object", "required": ["result"], "properties": {"result": {"$ref": "#/$defs/N"}},
           "$defs": {"N": {"type": "integer"}}}  # fmt: skip
MARKED = {**WRAPPED, "required": [], "properties": {**WRAPPED["properties"], "note": {}}, "x-fastmcp-wrap-result": True}
OWN = {**WRAPPED, "required": ["result", "unit"], "properties": {**WRAPPED["properties"], "unit": {"type": "string"}}}
if "more" in ways:
    tools += [
        {"name": "count", "inputSchema": {"type": "object"}, "outputSchema": WRAPPED},
        {"name": "marked", "inputSchema": {"type": "object"}, "outputSchema": MARKED},
        {"name": "measure", "inputSchema": {"type": "object"}, "outputSchema": OWN},
        {"name": "long_work", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
        {"name": "short_work", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}},
    ]


def send(message: dict[str, object]) -> None:
    if "before" in ways:
        sys.stdout.write('Loading {"model": "x"}: 50 %\r100 % ')
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, object]:
    line = sys.stdin.readline()
    if not line:
        if "stubborn" in ways:
            time.sleep(3600)
        sys.exit(0)
    return json.loads(line)


def text(words: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": words}]}


def call(name: str, arguments: dict[str, object]) -> dict[str, object]:
    if name == "add":
        return text(json.dumps(arguments["a"] + arguments["b"]))
    if name == "die":
        print("the disk is full", file=sys.stderr, flush=True)
        os._exit(7)
    if name == "hang":
        time.sleep(3600)
    if name == "ask":
        return text(json.dumps(ask(str(arguments["kind"]))))
    if name == "grow":
        tools.append({"name": f"more_{len(tools)}", "inputSchema": {"type": "object"}})
        send({"method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "variables":
        return text(json.dumps(dict(os.environ)))
    if name in ("count", "marked", "measure"):
        value = {"result": 42, **({"unit": "m"} if name == "measure" else {})}
        return {**text(json.dumps(value)), "structuredContent": value}
    if name == "short_work":
        return text("done")
    if name == "pid":
        return text(str(os.getpid()))
    raise LookupError(name)


def ask(kind: str) -> dict[str, object]:
    """Send the client a request of its own, and return the answer."""
    parameters = {
        "sampling/createMessage": {"messages": [], "maxTokens": 5},
        "elicitation/create": {"mode": "form", "message": "Sure?", "requestedSchema": {
            "type": "object", "properties": {}}},
        "roots/list": {},
        "ping": {},
    }[kind]  # fmt: skip
    send({"id": "mine", "method": kind, "params": parameters})
    while True:
        message = receive()
        if message.get("id") == "mine":
            return message.get("error") or message["result"]


def page(cursor: str | None) -> dict[str, object]:
    if "broken" in ways:
        return {"tools": [{"name": 5}]}
    if "endless" in ways:
        return {"tools": [], "nextCursor": "again"}
    if "paged" not in ways:
        return {"tools": tools}
    place = int(cursor or 0)
    more = {"nextCursor": str(place + 1)} if place + 1 < len(tools) else {}
    return {"tools": [tools[place]], **more}


def answer(message: dict[str, object]) -> None:
    number, method, parameters = message["id"], message["method"], message.get("params") or {}
    if method == "initialize":
        send({"id": number, "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "Handmade", "version": "1"},
        }})  # fmt: skip
    elif method == "tools/list":
        send({"id": number, "result": page(parameters.get("cursor"))})
    elif method == "tools/call":
        try:
            send({"id": number, "result": call(parameters["name"], parameters.get("arguments") or {})})
        except LookupError as error:
            send({"id": number, "error": {"code": -32602, "message": f"Unknown tool: {error}"}})
    else:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    if "exits" in ways:
        print("no database", file=sys.stderr)
        sys.exit(3)
    if "stubborn" in ways:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in ways:
        child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
        print(f"child {child.pid}", file=sys.stderr, flush=True)
        tools.append({"name": f"child_{child.pid}", "inputSchema": {"type": "object"}})
    if "slow" in ways:
        time.sleep(1)
    while "flood" in ways:
        print("Server is starting…", flush=True)
        time.sleep(0.02)
    while True:
        got = receive()
        if "garbage" in ways:
            print("Handling a request", flush=True)
            print('{"level": "info"}', flush=True)
        if "id" in got and "method" in got and "deaf" not in ways:
            answer(got)
