"""The simplest guest that speaks the protocol: one process, no limits. The corpus must not hold on it."""

import ast
import contextlib
import io
import json
import os
import struct
import time
import traceback

space = {"__name__": "__main__"}


def read_exactly(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def answer(message):
    body = json.dumps(message).encode()
    os.write(1, struct.pack(">II", len(body), 0) + body)


def run(code):
    out, error, before = io.StringIO(), None, dict(space)
    started = time.monotonic()
    with contextlib.redirect_stdout(out):
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<step>", "exec"), space)
            value = eval(compile(ast.Expression(last.value), "<step>", "eval"), space) if last else None
            if value is not None:
                print(repr(value))
        except Exception as raised:
            error = {"type": type(raised).__name__, "message": str(raised), "line": "", "line_number": None}
            error["traceback"] = traceback.format_exc()
    changed = [
        [name, type(value).__name__, repr(value)]
        for name, value in space.items()
        if not name.startswith("_") and before.get(name, out) is not value and type(value) in (int, str, list)
    ]
    return {
        "outcome": "error" if error else "ok", "stdout": out.getvalue(), "stderr": "", "late_output": "", "notice": "",
        "stdout_bytes": len(out.getvalue()), "changed": changed, "error": error, "displays": [],
        "seconds": time.monotonic() - started,
    }  # fmt: skip


while True:
    size, blob = struct.unpack(">II", read_exactly(8))
    request = json.loads(read_exactly(size))
    read_exactly(blob)
    if request["op"] == "start":
        answer({"op": "ready", "version": "3.11.0"})
    elif request["op"] == "run":
        answer({"op": "result", "number": request["number"], **run(request["code"])})
    elif request["op"] == "changes":
        answer({"op": "changes", "files": [], "refused": [], "unseen": []})
    else:
        answer({"op": "failed", "why": "this guest only runs code"})
