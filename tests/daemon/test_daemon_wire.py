"""Objects, files and errors between a host process and its clients."""

from __future__ import annotations

import io
import pickle
import socket
import threading

import pytest

from codenav.core import errors
from codenav.core.errors import CodeNavError
from codenav.sandboxes.daemon.wire import ConnectionClosed, Wire, plain
from codenav.sandboxes.shared import frames


def test_objects_and_files_come_whole_and_in_order():
    near, far = map(Wire, socket.socketpair())
    sent = [("a", "é\n" * 50_000), None, float("inf")]
    files = [b"", b"\0" * 5_000_000, b"x"]
    sending = threading.Thread(
        target=lambda: [near.send(*one) for one in zip(sent, map(io.BytesIO, files), strict=True)]
    )
    sending.start()
    for one, data in zip(sent, files, strict=True):
        found, size = far.receive()
        file = io.BytesIO()
        far.receive_into(file, size)
        assert (found, file.getvalue()) == (one, data)
    sending.join()
    near.close()
    near.close()
    with pytest.raises(ConnectionClosed):
        far.receive()
    far.close()


@pytest.mark.parametrize(
    ("data", "told"), [(frames.HEADER.pack(1 << 31, 0), "too large"), (frames.encode({"op": "run"}), "another version")]
)
def test_what_is_no_object_is_refused(data, told):
    one, two = socket.socketpair()
    with one, two:
        one.sendall(data)
        with pytest.raises(ConnectionClosed, match=told):
            Wire(two).receive()


PLAIN = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, CodeNavError) and kind.__init__ is CodeNavError.__init__
]


def test_an_error_keeps_its_type_and_its_words():
    for kind in PLAIN:
        there = pickle.loads(pickle.dumps(plain(kind("what", hint="a command"))))
        assert (type(there), str(there), there.hint) == (kind, "what", "a command")


def test_an_error_that_only_one_end_knows_arrives_as_what_it_is_a_kind_of():
    class Special(errors.SandboxUnavailable):
        pass

    limit = errors.LimitReached("steps", 2, 1)
    for error, kind in ((Special("what"), errors.SandboxUnavailable), (limit, CodeNavError)):
        there = pickle.loads(pickle.dumps(plain(error)))
        assert (type(there), str(there), there.hint) == (kind, str(error), error.hint)
