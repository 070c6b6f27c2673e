"""Attacks on tools: what code inside can make of the calls that a broker answers, and what it learns from them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from tool_service import KEY, ToolService
from tool_specs import Calls, shop, trouble

from attacks import case
from codenav.core.execution import Outcome
from codenav.core.options import ToolOptions
from codenav.sandboxes.conformance.lab import Lab, ending, ensure, expect
from codenav.tools.state_files import STUBS

VARIABLE = "CODENAV_TEST_TOOL_KEY"
ORDER = "customer=7, lines=[{'product': 1, 'quantity': 1}]"
_ASK = """
def ask(name, **arguments):
    answer = call_host('tools/' + name, arguments=arguments)
    return next(iter(answer)), next(iter(answer.values()))
"""


class Scene(ToolService):
    """A service, and the broker through which the sandbox reaches it; writes are allowed, deleting is not."""

    def open(self, lab: Lab) -> None:
        """Open the broker before the sandbox, which can import the stubs and knows `ask`."""
        options = ToolOptions(allow="write", secrets={"shop_key": VARIABLE})
        self.calls = Calls(lab.folder, [shop(self.url), trouble(self.url)], options)
        lab.calls = self
        stubs = [lab.folder / f"state-{name}" / STUBS for name in ("shop", "trouble")]
        lab.begin(import_paths=[*lab.spec.import_paths, *stubs])
        lab.says(_ASK)

    def begin(self, seconds: float) -> None:
        """Begin a step."""
        self.calls.broker.begin("", seconds)

    def end(self) -> None:
        """End a step, and its call that still runs."""
        self.calls.broker.cancel()

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        return self.calls.broker(name, arguments)

    def written(self) -> list[str]:
        """The requests that write, in their order."""
        return [seen.line for seen in self.writes]


@contextlib.contextmanager
def _scene(lab: Lab) -> Iterator[Scene]:
    os.environ[VARIABLE] = KEY
    try:
        with Scene() as scene:
            scene.open(lab)
            with contextlib.closing(scene.calls.broker):
                yield scene
    finally:
        del os.environ[VARIABLE]


def _works(lab: Lab, scene: Scene) -> None:
    """Check that an honest call goes out, once."""
    before = len(scene.log)
    expect("an honest call", lab.says("ask('trouble/path', id='a b')[1]['path']"), "'/reflect/a%20b'")
    expect("what it sent", [seen.line for seen in scene.log[before:]], ["GET /reflect/a%20b"])


@case("T1", "a call goes out once, with its key, which stays on the host")
def _honest(lab: Lab) -> None:
    with _scene(lab) as scene:
        lab.says(f"from tools.shop import create_order\ncreate_order({ORDER})")
        expect("writes", scene.written(), ["POST /orders"])
        expect("the key that the service got", scene.log[0].headers["x-api-key"], KEY)
        said = lab.says("print(ask('trouble/tell'))")
        ensure(KEY not in said and "[secret shop_key]" in said, f"the answer is not masked: {said[:200]}")
        _works(lab, scene)


@case("T8", "a key of a tool is nowhere inside")
def _keys(lab: Lab) -> None:
    with _scene(lab) as scene:
        prefix, digest = KEY[:4], hashlib.sha256(KEY.encode()).hexdigest()
        said = lab.says(
            f"""
            import traceback
            texts = [str(ask('trouble/' + name)) for name in ('tell', 'elsewhere', 'slow_writ')]
            texts += [str(ask('shop/create_order', {ORDER})), str(ask('shop/delete_order', order_id=1001))]
            try:
                from tools.trouble import header
                header(value='a\\r\\nb')
            except Exception as error: texts.append(repr(error) + traceback.format_exc())
            print(texts)
            """
        )
        ensure(KEY not in said, "a text holds the key")
        # The words of the search are not the key itself: what looks for it would find itself.
        found = lab.says(
            f"""
            import glob, hashlib, os, re
            decoy = bytes({prefix.encode()!r} + b'0' * 12)
            wanted, places = {{{digest!r}: 'the key', hashlib.sha256(decoy).hexdigest(): 'a decoy'}}, {{}}
            pattern = re.compile({prefix.encode()!r} + b'[0-9a-f]{{12}}')
            for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):
                try: places[path] = open(path, 'rb').read()
                except OSError: pass
            places['os.environ'] = repr(dict(os.environ)).encode()
            def mapped():
                for line in open('/proc/self/maps'):
                    span, rights = line.split()[:2]
                    first, last = (int(part, 16) for part in span.split('-'))
                    if 'r' in rights and last - first < 1 << 28:
                        memory.seek(first)
                        try: yield span, memory.read(last - first)
                        except (OSError, ValueError, OverflowError): pass
            found = set()
            with open('/proc/self/mem', 'rb', buffering=0) as memory:
                for place, data in [*places.items(), *mapped()]:
                    for match in pattern.findall(data):
                        found.add(wanted.get(hashlib.sha256(match).hexdigest(), 'another'))
            print(sorted(found))
            """,
            timeout=60.0,
        )
        expect("what the memory holds", found, "['a decoy']")
        for call in scene.calls.made:
            ensure(KEY not in str(call.to_dict()), "a record holds the key")


@case("T9", "a file that a tool answers with lies in the work folder, whatever its name", work=True)
def _files(lab: Lab) -> None:
    with _scene(lab):
        names = (
            "../out.txt",
            "/tmp/out.txt",
            "..\\\\out.txt",
            "a/b.txt",
            ".bashrc",
            "con\\x1b[2J",
            "%2e%2e%2fout",
            "..",
        )
        said = lab.says(
            f"""
            import os
            from tools.trouble import named
            before = set(os.listdir('/tmp')) | set(os.listdir('..'))
            made = [named(name) for name in {list(names)!r}]
            print(len(set(made)), [name for name in made if os.path.dirname(name) or not os.path.isfile(name)
                                   or name.startswith('.') or not name.isprintable()])
            print((set(os.listdir('/tmp')) | set(os.listdir('..'))) - before)
            """
        )
        expect("files, and those in other places", said.split("\n"), [f"{len(names)} []", "set()"])
        expect("files of the host", len(lab.files()), len(names))
        expect("beside them", sorted(os.listdir(lab.folder)), ["canary.txt", "state-shop", "state-trouble", "work"])


@case("T10", "an interrupt ends a step in a call at once, and nothing is sent twice")
def _interrupted(lab: Lab) -> None:
    with _scene(lab) as scene:
        lab.says("kept = 'kept'")

        def interrupt() -> None:
            while not scene.log and time.monotonic() < until:
                time.sleep(0.02)
            lab.box.interrupt()

        until = time.monotonic() + 10.0
        waiting = threading.Thread(target=interrupt)
        waiting.start()
        with lab.at_most(5.0, "the end of a call that was interrupted"):
            done = lab.run("ask('trouble/slow_write', seconds=20)", timeout=18.0)
        waiting.join()
        ensure(done.outcome is not Outcome.OK, f"the step ended as {ending(done)}")
        with lab.at_most(4.0, "the end of a call that the time of its step ended"):
            # The broker ends the call with the time of the step: its code may just live to be told so.
            lab.outcome("ask('trouble/slow_write', seconds=20)", Outcome.TIMEOUT, Outcome.OK, timeout=1.0)
        expect("writes", scene.written(), ["POST /trouble/slow", "POST /trouble/slow"])
        expect("the state", lab.says("kept"), "'kept'")
        lab.says(_ASK)
        _works(lab, scene)


@case("T11", "a process that ends in a call, or a state that is rebuilt, sends nothing twice")
def _rebuilt(lab: Lab) -> None:
    lab.begin(snapshots=False)
    with _scene(lab) as scene:
        lab.says(f"first = ask('shop/create_order', {ORDER})[0]")
        lab.outcome(
            "import os, threading, time\nthreading.Thread(target=ask, args=('trouble/slow_write',)).start()\n"
            "time.sleep(0.5)\nos._exit(1)",
            Outcome.CRASHED,
        )
        expect("the state that was rebuilt", lab.says("first"), "'value'")
        expect("writes", scene.written(), ["POST /orders", "POST /trouble/slow"])
        _works(lab, scene)
