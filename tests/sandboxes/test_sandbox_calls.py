"""Calls from code in a sandbox to the host: what they bring back, what ends them, and what never reaches a handler."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time

import pytest

import codenav
from codenav.core.errors import UsageError
from codenav.core.execution import Outcome, Ran
from codenav.core.options import SandboxOptions
from codenav.episodes.objects import Objects
from codenav.sandboxes.conformance.lab import crowding
from codenav.sandboxes.pool import start_warm
from codenav.session.host_calls import MaskedCalls, RecordedCalls
from codenav.session.replaying import Beginning, Replay
from codenav.session.sandbox_factory import SandboxFactory

TRIED_ON = ("bubblewrap", "docker")


class Shop:
    """A handler with something behind it that changes with each order."""

    def __init__(self):
        self.orders = []
        self.open = threading.Event()
        self.began = threading.Event()

    def __call__(self, name, arguments):
        self.began.set()
        if name == "wait":
            self.open.wait(20)
            return "late"
        if name == "order":
            self.orders.append(arguments["what"])
            return {"number": len(self.orders), "what": arguments["what"]}
        if name == "echo":
            return arguments
        if name == "big":
            return "x" * arguments["size"]
        if name == "odd":
            return {1, 2}
        raise LookupError(f"no {name}: try order")


@pytest.fixture
def shop():
    made = Shop()
    yield made
    made.open.set()


@pytest.fixture
def box(fresh, shop):
    return fresh(calls=shop)


def error_of(done):
    assert (done.outcome, done.error.type) == (Outcome.ERROR, "HostCallError"), done
    return done.error.message


def test_a_call_brings_back_json_data(box, shop):
    assert box.run("order = call_host('order', what='tea'); order").value.data == {"number": 1, "what": "tea"}
    data = {"a": [None, True, 1.5, 1 << 70, "\ud800 é"], "": {"b": {}}}
    box.set("data", data["a"][:4])
    assert box.run("call_host('echo', data=data) == {'data': data}").stdout == "True\n"
    assert (
        box.run("call_host('echo', **{'': {'b': ['\\ud800', (1,)]}}) == {'': {'b': ['\\ud800', [1]]}}").stdout
        == "True\n"
    )
    assert box.run("call_host('echo', name=1, self=2)['name']").stdout == "1\n"
    assert shop.orders == ["tea"]


def test_what_goes_wrong_is_an_error_inside_with_the_message_alone(box):
    done = box.run("x = 1\ncall_host('close')")
    assert (error_of(done), done.error.line_number) == ("no close: try order", 2)
    assert "guest_calls" not in done.error.traceback and "LookupError" not in done.error.traceback
    for code, message in (
        (
            "call_host('echo', x={1, 2})",
            "the arguments of echo are no JSON: Object of type set is not JSON serializable",
        ),
        ("call_host('echo', x=float('nan'))", "the arguments of echo are no JSON: Out of range float values"),
        ("call_host('no such name')", "'no such name' is not the name of a call"),
        ("call_host('')", "'' is not the name of a call"),
        ("call_host('odd')", "the result of odd is no JSON: Object of type set"),
        ("call_host('big', size=25 << 20)", "the result of big takes 26214402 bytes; 26214400 are allowed"),
        ("call_host('echo', x='y' * (12 << 20))", "the arguments of echo take 12582920 bytes; 12582912 are allowed"),
    ):
        assert error_of(box.run(code)).startswith(message)
    fine = "try: call_host('close')\nexcept HostCallError as error: print(error)\nlen(call_host('big', size=24 << 20))"
    assert box.run(fine).stdout == "no close: try order\n25165824\n"


def test_modules_reach_the_host_by_a_module_that_is_in_no_file(box, shop):
    stub = "from codenav_host import HostCallError, call_host\ndef order(what): return call_host('order', what=what)\n"
    box.run(f"open('stub.py', 'w').write({stub!r}); import stub")
    assert box.run("stub.order('tea')['what']").value.data == "tea"
    assert box.run("import codenav_host; hasattr(codenav_host, '__file__')").stdout == "False\n"
    box.run("import sys; del sys.modules['codenav_host'], sys.modules['stub']")
    assert box.run("import stub; stub.order('milk')['number']").stdout == "2\n"
    assert box.run("call_host('order', what='milk')['what']").value.data == "milk"


def test_without_a_handler_every_call_is_refused(fresh):
    sandbox = fresh()
    assert error_of(sandbox.run("call_host('order', what='tea')")).startswith("the host takes no calls")
    assert sandbox.run("1").stdout == "1\n"


def test_a_step_makes_a_thousand_calls(box, shop):
    code = """
made = 0
for n in range(1003):
    try: made += bool(call_host('order', what=n))
    except HostCallError as error: print(error)
"""
    done = box.run(code)
    assert done.stdout == "a step may make 1000 calls to the host\n" * 3
    assert shop.orders == list(range(1000)) and box.run("made").stdout == "1000\n"
    assert box.run("call_host('order', what='tea')['number']").stdout == "1001\n"


@pytest.mark.parametrize("ending", ["timeout", "interrupt"])
def test_a_handler_that_hangs_holds_up_no_end_of_its_step(box, shop, ending):
    box.run("kept = 1")
    began = time.monotonic()
    if ending == "interrupt":
        threading.Thread(target=lambda: (shop.began.wait(10), box.interrupt())).start()
    done = box.run("kept = 2\ncall_host('wait')\nkept = 3", timeout=0.5 if ending == "timeout" else 30)
    assert time.monotonic() - began < 0.5 + crowding()
    wanted = (Outcome.TIMEOUT, "TimeoutError") if ending == "timeout" else (Outcome.ERROR, "KeyboardInterrupt")
    assert (done.outcome, done.error.type) == wanted
    # The late answer reaches no later call.
    threading.Timer(0.2, shop.open.set).start()
    code = """
import time
found = []
for n in range(20):
    found.append(call_host('echo', n=n)['n']); time.sleep(0.02)
found == list(range(20))
"""
    assert box.run(code).stdout == "True\n"
    # On a busy machine the interrupt may not be answered in time: then the state is from before the step.
    assert box.run("kept").stdout == ("1\n" if "from before this step" in done.notice else "2\n")


def test_an_interrupt_that_does_not_end_the_wait_for_an_answer_is_heeded(box):
    # It reaches another thread, as one that comes just before the wait reaches none that waits.
    code = """
import signal, threading, time
def interrupt():
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
threading.Thread(target=interrupt).start()
call_host('wait')
"""
    done = box.run(code, timeout=10)
    assert (done.outcome, done.error.type) == (Outcome.ERROR, "KeyboardInterrupt")


def test_a_step_that_catches_its_interrupt_makes_no_more_calls(box, shop):
    threading.Thread(target=lambda: (shop.began.wait(10), box.interrupt())).start()
    done = box.run("try: call_host('wait')\nexcept KeyboardInterrupt: print('caught')\ncall_host('echo')", timeout=30)
    assert done.stdout == "caught\n"
    assert error_of(done).startswith("an earlier call of this step was interrupted")
    assert box.run("call_host('echo')").stdout == "{}\n"


def test_ctrl_c_on_this_side_ends_the_step_and_keeps_the_state(box):
    box.run("kept = 1")

    def answer(name, arguments):
        if name == "wait":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        return name

    box.calls = answer
    with pytest.raises(KeyboardInterrupt):
        box.run("call_host('wait')", timeout=30)
    assert box.run("kept, call_host('again')").stdout == "(1, 'again')\n"


def test_whatever_a_handler_raises_is_the_error_of_its_call(box):
    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError

    for raised, message in (
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (SystemExit(3), "3"),
        (Unspeakable(), "Unspeakable"),
        (ValueError("x" * 10_000), "x" * 4000),
        (ValueError("\x1b[2Jx"), "x"),
    ):

        def answer(name, arguments, raised=raised):
            raise raised

        box.calls = answer
        assert error_of(box.run("call_host('fail')")) == message


def test_a_handler_may_stop_its_own_sandbox_and_do_nothing_else_with_it(box):
    refusals = []

    def answer(name, arguments):
        for use in (lambda: box.run("1"), box.variables, box.checkpoint, lambda: box.files.list()):
            try:
                use()
            except UsageError as error:
                refusals.append(str(error))
        box.interrupt()
        time.sleep(0.3)

    box.calls = answer
    assert box.run("call_host('use')", timeout=20).error.type == "KeyboardInterrupt"
    assert refusals == ["the sandbox is running a step"] * 4
    box.calls = lambda name, arguments: box.close()
    done = box.run("call_host('close')", timeout=20)
    assert (done.outcome, done.error.type) in ((Outcome.ERROR, "KeyboardInterrupt"), (Outcome.CRASHED, "Closed"))


def test_threads_wait_for_their_turn_and_call_nobody_when_the_step_is_over(box, shop):
    pool = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool:\n"
    assert (
        box.run(pool + "    print(sum(pool.map(lambda n: call_host('echo', n=n)['n'], range(200))))").stdout
        == "19900\n"
    )
    left = """
import threading, time
said = []
def later(seconds, name):
    time.sleep(seconds)
    try: said.append(call_host(name))
    except HostCallError as error: said.append(str(error))
threads = [threading.Thread(target=later, args=(0, 'wait')), threading.Thread(target=later, args=(0.6, 'order'))]
for thread in threads: thread.start()
time.sleep(0.3)
"""
    assert box.run(left).ok
    time.sleep(0.6)
    assert box.run("for thread in threads: thread.join()\nset(said)").stdout == (
        "{'the step is over: calls to the host are made while one runs'}\n"
    )
    assert shop.orders == []


def test_a_child_of_a_step_calls_nobody_and_costs_it_nothing(box, shop):
    code = """
import os
read, write = os.pipe()
if os.fork() == 0:
    try: call_host('order', what='tea')
    except HostCallError as error: os.write(write, str(error).encode())
    os._exit(0)
os.wait()
print(os.read(read, 1000).decode())
call_host('order', what='milk')['number']
"""
    assert box.run(code).stdout == "calls to the host are made by the process of the steps, not by a child of it\n1\n"
    assert shop.orders == ["milk"]


def test_a_call_inside_a_call_is_refused(box):
    code = """
import signal, time
said = []
def nested(*_):
    try: call_host('echo')
    except HostCallError as error: said.append(str(error))
signal.signal(signal.SIGALRM, nested)
signal.setitimer(signal.ITIMER_REAL, 0.2)
call_host('wait'), said
"""
    threading.Timer(0.8, box.calls.open.set).start()
    assert "the same thread waits for another one" in box.run(code).stdout


# Steps that run again


def test_a_step_that_runs_again_gets_its_answers_and_calls_nobody(fresh, shop):
    sandbox = fresh(calls=shop, snapshots=False)
    sandbox.run("orders = [call_host('order', what=what)['number'] for what in ('tea', 'milk')]")
    sandbox.run("try: call_host('close')\nexcept HostCallError as error: said = str(error)")
    done = sandbox.run("import os; os._exit(1)")
    assert done.notice.startswith("state rebuilt")
    assert "calls to the host got the answers from before" in done.notice
    assert sandbox.run("orders, said").stdout == "([1, 2], 'no close: try order')\n"
    assert shop.orders == ["tea", "milk"]


def test_a_step_that_calls_for_something_else_when_it_runs_again_is_refused_and_named(fresh, shop):
    sandbox = fresh(calls=shop, snapshots=False)
    sandbox.run("import os\nwhat = str(os.getpid())\ncall_host('order', what=what)")
    sandbox.run("count = call_host('order', what='tea')['number']")
    done = sandbox.run("os._exit(1)")
    assert "step 1 ended differently from before" in done.notice, done.notice
    assert sandbox.run("count").stdout == "2\n"
    assert len(shop.orders) == 2


def test_answers_that_are_too_large_to_be_kept_are_not_made_up(fresh, shop):
    sandbox = fresh(calls=shop, snapshots=False)
    sandbox.run("sizes = [len(call_host('big', size=9_000_000)) for _ in range(3)]")
    done = sandbox.run("import os; os._exit(1)")
    assert done.notice.startswith(
        "state lost: step 1 cannot run again, because the answers to its calls were too large"
    )


# Around sandboxes


def test_a_warm_sandbox_has_the_handler_of_its_own_call(backend, basis, shop):
    first = start_warm(backend, basis, 1, calls=shop)
    second = start_warm(backend, basis, 1)
    try:
        assert first.run("call_host('order', what='tea')['number']").stdout == "1\n"
        assert "takes no calls" in error_of(second.run("call_host('order', what='tea')"))
    finally:
        first.close()
        second.close()


def test_output_and_large_calls_come_through_in_pieces(box):
    pieces = []

    def slow(piece):
        time.sleep(0.01)
        pieces.append(piece.text)

    code = "for n in range(40):\n    print('line', n)\n    print(len(call_host('echo', x='y' * 500_000)['x']))"
    done = box.run(code, on_output=slow)
    assert done.stdout == "".join(f"line {n}\n500000\n" for n in range(40)) == "".join(pieces)


def test_errors_carry_no_secret_into_the_sandbox(monkeypatch):
    monkeypatch.setenv("PETSTORE_API_KEY", "key-0123456789")

    def answer(name, arguments):
        raise ConnectionError(f"https://pets.example/?key={os.environ['PETSTORE_API_KEY']}&token=given-by-hand")

    with codenav.sandbox("bubblewrap", env={"GIVEN": "given-by-hand"}, calls=answer) as sandbox:
        sandbox.run("try: call_host('find')\nexcept HostCallError as error: said = str(error)")
        assert sandbox.run("'key-' + '0123456789' in said, 'given-' + 'by-hand' in said").stdout == "(False, False)\n"
        assert (
            sandbox.run("said").stdout == "'https://pets.example/?key=[secret PETSTORE_API_KEY]&token=[secret GIVEN]'\n"
        )


def test_a_replay_of_a_summary_repeats_nothing_on_the_host(tmp_path, shop):
    factory = SandboxFactory.of(SandboxOptions("bubblewrap", calls=RecordedCalls(shop)))
    code = "numbers = [call_host('order', what=what)['number'] for what in ('tea', 'tea', 'milk')]\nprint(numbers)"
    beginning = Beginning.keep(None, tmp_path, factory, Objects(tmp_path / "objects"))
    with factory.start(None) as sandbox:
        done = sandbox.run(code)
        assert done.ok
        replay = Replay(sandbox, factory, beginning, [Ran(code, done)], ["order"])
        assert replay(code).verified
        assert not replay(code + "\ncall_host('order', what='more')").verified
        assert shop.orders == ["tea", "tea", "milk"]
        plain = dataclasses.replace(factory, calls=shop)
        verdict = Replay(sandbox, plain, beginning, [Ran(code, done)], ["order"])(code)
        assert "a replay makes no call to order that the session had not made" in verdict.reason
    assert shop.orders == ["tea", "tea", "milk"]


def test_recorded_errors_and_masked_ones_come_again(shop):
    recorded = RecordedCalls(shop)
    with pytest.raises(LookupError):
        recorded("close", {})
    with pytest.raises(RuntimeError, match="no close: try order"):
        recorded.again()("close", {})
    with pytest.raises(RuntimeError, match=r"no close: \[secret WORD\]"):
        MaskedCalls(recorded.again(), {"WORD": "try order"})("close", {})
