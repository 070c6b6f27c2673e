"""Frames and errors between a host process and its clients."""

from __future__ import annotations

import socket
import threading

import pytest

from codenav.core import errors
from codenav.core.errors import CodeNavError
from codenav.sandboxes.daemon.wire import ConnectionClosed, Wire, error_from_dict, error_to_dict
from codenav.sandboxes.shared import frames


def test_frames_come_whole_and_in_order():
    one, two = socket.socketpair()
    sent = [({"op": "a", "text": "é\n" * 50_000}, b""), ({"op": "b"}, b"\0" * 5_000_000), ({}, b"x")]
    near, far = Wire(one), Wire(two)
    sending = threading.Thread(target=lambda: [near.send(*frame) for frame in sent])
    sending.start()
    assert [far.receive() for _ in sent] == sent
    sending.join()
    near.close()
    near.close()
    with pytest.raises(ConnectionClosed):
        far.receive()
    far.close()


def test_a_frame_that_is_too_large_is_refused_before_it_is_read():
    one, two = socket.socketpair()
    with one, two:
        one.sendall(frames.HEADER.pack(1 << 31, 0))
        with pytest.raises(ConnectionClosed, match="too large"):
            Wire(two).receive()


def test_a_number_that_is_not_finite_is_refused_and_the_connection_serves_on():
    one, two = socket.socketpair()
    near, far = Wire(one), Wire(two)
    with pytest.raises(errors.UsageError, match="not JSON compliant"):
        near.send({"timeout": float("inf")})
    near.send({"timeout": 1.0})
    assert far.receive() == ({"timeout": 1.0}, b"")
    one.sendall(frames.HEADER.pack(3, 0) + b"[1]")
    with pytest.raises(ConnectionClosed, match="not an object"):
        far.receive()
    near.close()
    far.close()


PLAIN = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, CodeNavError) and kind.__init__ is CodeNavError.__init__
]


@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_type_and_its_words(kind):
    there = error_from_dict(error_to_dict(kind("what", hint="a command")))
    assert (type(there), str(there), there.hint) == (kind, "what", "a command")


def test_an_error_that_only_one_end_knows_arrives_as_what_it_is_a_kind_of():
    class Special(errors.SandboxUnavailable):
        pass

    limit = errors.LimitReached("steps", 2, 1)
    for error, kind in ((Special("what"), errors.SandboxUnavailable), (limit, CodeNavError)):
        there = error_from_dict(error_to_dict(error))
        assert (type(there), str(there), there.hint) == (kind, str(error), error.hint)
