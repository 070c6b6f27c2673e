"""The loop of the process in which steps run: one stack frame decides, from its start to its end, how a step went.

What decides is in its local variables, filled before any step ran, and is built into Python: classes, functions,
modules and builtins that a step puts something else into do not change it. That a step came to its end is told with a
token of the supervisor's, which is on the stack of this frame alone while the step runs: Python code has no way to read
it there. Code that writes into the memory of its process, that changes the local variables of this frame (trace and
profile functions can, since Python 3.13 any code), or that a step leaves behind to read the token before this frame
does, has: see docs/sandbox.md, "True results".
"""

from __future__ import annotations

import array
import ast
import json
import os
import socket
from typing import Any

import guest_runner
from guest_frames import HEADER, encode

TOKEN_BYTES = 16
_ENDED = b'{"op":"ended"}'
_MOST_FDS = 5
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0x40000000)
_COROUTINE = 0x80
"""`inspect.CO_COROUTINE`."""


def serve(worker: Any) -> None:
    """Serve until the supervisor closes its end. `worker` does what decides nothing: see `guest_worker.Worker`."""
    recvmsg, read, write, leave, getpid = worker.control.recvmsg, os.read, os.write, os._exit, os.getpid
    make, evaluate, instance, length, number = compile, eval, isinstance, len, int.from_bytes
    text, ints, buffer = str, array.array, bytearray
    decoder: Any = json.JSONDecoder()
    parse, anything, memory_error = decoder.scan_once, BaseException, MemoryError
    expression, assignment, name_of, store = ast.Expr, ast.Assign, ast.Name, ast.Store
    only_tree, top_await = ast.PyCF_ONLY_AST, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    function: Any = type(_awaited)
    awaited, honest_code = _awaited.__code__, _honest.__code__
    kinds = _kinds()
    bases = {base for kind in kinds for base in kind.__mro__[1:-1]}
    known = (kinds, bases, type, dict, vars, getattr, isinstance, list, ast.AST)
    future, hidden, room = guest_runner.FUTURE, guest_runner.HIDDEN, socket.CMSG_SPACE(_MOST_FDS * 4)
    rights, close_on_exec = (socket.SOL_SOCKET, socket.SCM_RIGHTS), _CLOSE_ON_EXEC
    ended = HEADER.pack(len(_ENDED), TOKEN_BYTES) + _ENDED
    raised, out_of_memory = encode({"op": "raised"}), encode({"op": "memory"})
    armed, space, flags = worker.armed, worker.space, 0
    while True:
        worker.rest()
        data, descriptors = buffer(), ints("i")
        while length(data) < 8 or length(data) < 8 + number(data[:4], "big"):
            more, ancillary, _, _ = recvmsg(1 << 16, room, close_on_exec)
            if not more:
                leave(0)
            for level, kind, attached in ancillary:
                if (level, kind) == rights:
                    descriptors.frombytes(attached[: length(attached) - length(attached) % 4])
            data += more
        request = parse(data[8:].decode("utf-8"), 0)[0]
        del data
        if request["op"] != "run":
            worker.answer(request, descriptors)
            continue
        if worker.prepare(request, descriptors):
            continue
        reply, own, error = descriptors[0], getpid(), None
        source, filename = request["code"], "<step " + text(request["number"]) + ">"
        try:
            try:
                worker.enter(source, filename)
                honest = function(honest_code, {})
                tree = make(source, filename, "exec", only_tree | top_await | flags, True)
                last: Any = tree.body[-1] if tree.body else None
                if instance(last, expression) and not source.rstrip().endswith(";") and honest(tree, *known):
                    place = {"lineno": last.lineno, "col_offset": last.col_offset}
                    place.update(end_lineno=last.end_lineno, end_col_offset=last.end_col_offset)
                    name = name_of(id=hidden, ctx=store(), **place)
                    tree.body[-1] = assignment(targets=[name], value=last.value, **place)
                    body = make(tree, filename, "exec", top_await | flags, True)
                else:
                    body = make(source, filename, "exec", top_await | flags, True)
                flags |= body.co_flags & future
                if body.co_flags & _COROUTINE:
                    worker.drive(
                        function(awaited, {})(
                            ended, read, write, reply, evaluate(body, space), own, getpid, worker, armed, tree
                        )
                    )
                else:
                    # On one line: the value of each part is on the stack, where nothing but this line gets at it.
                    write(reply, (ended + read(reply, 16), evaluate(body, worker.look(tree)), own == getpid() or worker.end_child() or leave(1), worker.show(), armed.clear())[0])  # fmt: skip  # noqa: E501
            finally:
                armed.clear()
        except anything as problem:
            armed.clear()
            error = problem
            if own != getpid():
                worker.end_child(error)
                leave(1)
            write(reply, out_of_memory if instance(error, memory_error) else raised)
        tree = body = None
        worker.finish(request, descriptors, error)
        error = None


async def _awaited(ended, read, write, reply, coroutine, own, getpid, worker, armed, tree):  # type: ignore[no-untyped-def]
    """Run a step that awaits, as a line of `serve` runs one that does not."""
    write(reply, (ended + read(reply, 16), await (coroutine, worker.look(tree))[0], own == getpid() or worker.end_child(), worker.show(), armed.clear())[0])  # fmt: skip  # noqa: E501


def _kinds() -> dict[type, Any]:
    """Each class of syntax nodes with its fields, its base classes and its contents."""
    kinds = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
    return {kind: (kind._fields, kind.__mro__, dict(vars(kind))) for kind in kinds}


def _honest(tree, kinds, bases, type, dict, vars, getattr, isinstance, list, node_kind):  # type: ignore[no-untyped-def]
    """True if the classes of a tree are as they were: else it need not be compiled to what was written.

    Uses nothing but its arguments, and is made anew from its code for each call.
    """
    for kind in bases:
        if dict(vars(kind)) != kinds[kind][2] or kind.__mro__ != kinds[kind][1]:
            return False
    seen, nodes = {}, [tree]
    for node in nodes:
        kind = type(node)
        if kind not in seen:
            fields, order, contents = kinds.get(kind, (None, None, None))
            if dict(vars(kind)) != contents or kind.__mro__ != order:
                return False
            seen[kind] = fields
        for field in seen[kind]:
            value = getattr(node, field, None)
            if isinstance(value, list):
                nodes += [one for one in value if isinstance(one, node_kind)]
            elif isinstance(value, node_kind):
                nodes.append(value)
    return True
