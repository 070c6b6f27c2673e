"""Tools: what code inside can make of the calls that a broker on the host answers, and what it learns from them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Iterator

from codenav.execution import Outcome
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.forging import FORGE, PROMPT_SECONDS, STATED, next_is_true
from codenav.sandboxes.conformance.lab import Lab, Tools, ensure, expect, told
from codenav.sandboxes.conformance.service import Service

MOST_CALLS = 200
"""Most calls to tools in a step."""
PREFIX = "tool-key-"
_ASK = """
def ask(name, **arguments):
    answer = call_host('tools/bench/' + name, arguments=arguments)
    return next(iter(answer)), next(iter(answer.values()))
"""
_WRITES = ("POST", "DELETE")


class Scene:
    """A service, and the broker through which the sandbox reaches it."""

    def __init__(self, service: Service, tools: Tools, secret: str) -> None:
        self.service, self.tools, self.secret = service, tools, secret

    def writes(self) -> list[str]:
        """The requests that write, in their order."""
        return [line for line in self.service.log if line.startswith(_WRITES)]


@contextlib.contextmanager
def _scene(lab: Lab) -> Iterator[Scene]:
    """Open service and broker before the sandbox, which can import the stubs and knows `ask`."""
    service, secret = Service(), PREFIX + secrets.token_hex(12)
    try:
        tools = lab.tools(service.url, lab.folder / "bench", secret)
        try:
            lab.calls = tools
            lab.begin(import_paths=[*lab.spec.import_paths, tools.stubs])
            lab.says(_ASK)
            yield Scene(service, tools, secret)
        finally:
            tools.close()
    finally:
        service.close()


def _works(lab: Lab, scene: Scene) -> None:
    """Check that an honest call goes out, once."""
    before = len(scene.service.log)
    expect("an honest call", lab.says("ask('get_item', item='a b')[1]['ok']"), "True")
    expect("what it sent", scene.service.since(before), ["GET /items/a%20b"])


@case("T1", "a call goes out once, with its key, which stays on the host")
def _honest(lab: Lab) -> None:
    with _scene(lab) as scene:
        said = lab.says("from tools.bench import add_item\nprint(add_item(text='x'))")
        expect("writes", scene.writes(), ["POST /items"])
        expect("the key that the service got", scene.service.keys, [scene.secret])
        ensure(scene.secret not in said and "[secret bench_key]" in said, f"the answer is not masked: {said[:200]}")
        _works(lab, scene)


@case("T2", "forged frames of calls to tools send nothing, and cost their own step at most")
def _forged(lab: Lab) -> None:
    with _scene(lab) as scene:
        body = "json.dumps({'arguments': {'text': 'LIE'}}).encode()"
        for payload in (
            "{'op': 'call', 'call': 2, 'name': 'tools/bench/add_item'}",
            "{'op': 'call', 'call': 0, 'name': 'tools/bench/add_item'}",
            "{'op': 'call', 'call': 1, 'step': 1, 'name': 'tools/bench/add_item'}",
            "{'op': 'call', 'call': 1, 'name': 'tools/bench/add_item\\r\\n'}",
            "{'op': 'call', 'call': 1, 'name': ['tools/bench/add_item']}",
            "{'op': 'answer', 'step': 1, 'call': 1, 'error': None}",
        ):
            done = lab.run(
                f"{FORGE}\nsend(frame({payload}, {body}))\nimport time; time.sleep(0.1)", timeout=PROMPT_SECONDS
            )
            ensure(done.outcome in STATED, f"{payload}: {told(done)}")
            expect(f"what {payload} sent", scene.service.log, [])
            next_is_true(lab)
            lab.says(_ASK)
        _works(lab, scene)


@case("T3", "calls outside a step, from threads and from children, send nothing")
def _outside(lab: Lab) -> None:
    with _scene(lab) as scene:
        lab.says(
            """
            import os, threading, time
            def later():
                until = time.monotonic() + 1.5
                while time.monotonic() < until:
                    try: ask('add_item', text='late')
                    except Exception: pass
                    time.sleep(0.01)
            def begin():
                time.sleep(0.3); later()
            threading.Thread(target=begin, daemon=True).start()
            if os.fork() == 0:
                later(); os._exit(0)
            """
        )
        time.sleep(2.2)
        expect("writes after the step, and of a child", scene.writes(), [])
        next_is_true(lab)
        _works(lab, scene)


@case("T4", "only operations of the sources are called, and what the gate refuses is not")
def _others(lab: Lab) -> None:
    with _scene(lab) as scene:
        for name in (
            "tools/bench/no_such", "tools/other/add_item", "tools/bench/../bench/add_item", "tools/bench/add_item/x",
            "tools//add_item", "tools/bench/ADD_ITEM", "tools/bench/items", "bench/add_item", "tools/bench/__class__",
            "tools/bench.add_item", "tools/bench:add_item",
        ):  # fmt: skip
            code = f"try: print('refused' in call_host({name!r}, arguments={{'text': 'x'}}))\n"
            code += "except HostCallError: print(True)"
            expect(f"{name} is refused", lab.says(code), "True")
        said = lab.says("print(ask('remove_item', item='1'))")
        ensure("refused" in said and "--allow all" in said, f"the gate said {said[:200]}")
        expect("what was sent", scene.service.log, [])
        _works(lab, scene)


@case("T5", "no argument names another host, another path or another header")
def _elsewhere(lab: Lab) -> None:
    with _scene(lab) as scene, contextlib.closing(Service()) as other:
        host = other.url.partition("//")[2]
        for item in ("..", ".", "", "../tell", "a/../../tell", "..%2ftell", "a\\\\..\\\\tell", "..;/tell"):
            lab.says(f"ask('get_item', item='{item}')")
        for item in (
            f"//{host}/x",
            f"@{host}",
            other.url,
            f"a\\r\\nHost: {host}",
            "?x=1#y",
            "a HTTP/1.1\\r\\n\\r\\nGET /",
        ):
            lab.says(f"ask('get_item', item='{item}')")
        paths = [line.partition(" ")[2] for line in scene.service.log]
        ensure(paths and all(path.startswith("/items/") and "/" not in path[7:] for path in paths), f"paths: {paths}")
        ensure(not any(set(path) & set("?#\r\n ") for path in paths), f"paths: {paths}")
        before = len(scene.service.log)
        for note in ("a\\r\\nX-Key: forged", "a\\nb", "a\\0b"):
            expect(f"a header {note!r}", lab.says(f"ask('tell', note='{note}')[0]"), "'refused'")
        for more in ("server='http://127.0.0.1:1'", "headers={'Host': 'x'}", "path='/tell'", "X_Key='forged'"):
            expect(f"with {more}", lab.says(f"ask('get_item', item='a', {more})[0]"), "'refused'")
            code = f"call_host('tools/bench/get_item', arguments={{'item': 'a'}}, {more})"
            expect(f"beside {more}", lab.says(f"list({code})"), "['refused']")
        expect("what all these sent", scene.service.since(before), [])
        expect("what another service got", other.log, [])
        _works(lab, scene)


@case("T6", "arguments that are too large, too many or of another shape send nothing")
def _arguments(lab: Lab) -> None:
    with _scene(lab) as scene:
        for code in (
            "ask('add_item', text='x' * 100_000_000)",
            "ask('add_item', text='x' * 1001)",
            "ask('add_item', text='x' * 10_000_000)",
            "ask('add_item', text={'$file': {'name': 'a', 'type': '', 'data': 'YQ=='}})",
            "ask('add_item', text=None)",
            "ask('add_item', text=['x'])",
            "ask('add_item')",
            "ask('add_item', text='x', **{f'a{n}': 1 for n in range(10_000)})",
            "call_host('tools/bench/add_item', arguments=['x'])",
            "call_host('tools/bench/add_item', arguments=None)",
            "call_host('tools/bench/add_item', text='x')",
        ):
            lab.run(f"try: print({code})\nexcept HostCallError as error: print(error)")
            expect(f"what {code[:60]} sent", scene.service.log, [])
        nested = "x = 'a'\nfor _ in range(5000): x = [x]\ntry: print(ask('add_item', text=x))\nexcept Exception: pass"
        lab.run(nested)
        expect("what deep nesting sent", scene.service.log, [])
        _works(lab, scene)


@case("T7", "the 201st call of a step is refused, and the next step counts anew")
def _many(lab: Lab) -> None:
    with _scene(lab) as scene:
        count = lab.says(
            f"[ask('get_item', item='a')[0] for _ in range({MOST_CALLS + 5})].count('value')", timeout=60.0
        )
        expect("calls that were answered", count, str(MOST_CALLS))
        expect("requests", len(scene.service.log), MOST_CALLS)
        _works(lab, scene)


@case("T8", "a key of a tool is nowhere inside")
def _keys(lab: Lab) -> None:
    with _scene(lab) as scene:
        digest = hashlib.sha256(scene.secret.encode()).hexdigest()
        said = lab.says(
            """
            import traceback
            texts = [str(ask(name)) for name in ('tell', 'away', 'slow_writ')]
            texts += [str(ask('add_item', text='x')), str(ask('remove_item', item='1'))]
            try:
                from tools.bench import tell
                tell(note='a\\r\\nb')
            except Exception as error: texts.append(repr(error) + traceback.format_exc())
            print(texts)
            """
        )
        ensure(scene.secret not in said, "a text holds the key")
        # The words of the search are not the key itself: what looks for it would find itself.
        found = lab.says(
            f"""
            import glob, hashlib, os, re
            decoy = bytes({PREFIX.encode()!r} + b'0' * 24)
            wanted, places = {{{digest!r}: 'the key', hashlib.sha256(decoy).hexdigest(): 'a decoy'}}, {{}}
            pattern = re.compile({PREFIX.encode()!r} + b'[0-9a-f]{{24}}')
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
        for call in scene.tools.called:
            ensure(scene.secret not in str(call.to_dict()), "a record holds the key")
        ensure(scene.secret in scene.service.keys, "the service got no key")


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
            "%2e%2e%2fout.txt",
            "..",
        )
        said = lab.says(
            f"""
            import os
            from tools.bench import named
            before = set(os.listdir('/tmp')) | set(os.listdir('..'))
            made = [named(name) for name in {list(names)!r}]
            print(len(set(made)), [name for name in made if os.path.dirname(name) or not os.path.isfile(name)
                                   or name.startswith('.') or not name.isprintable()])
            print((set(os.listdir('/tmp')) | set(os.listdir('..'))) - before)
            """
        )
        expect("files, and those in other places", said.split("\n"), [f"{len(names)} []", "set()"])
        expect("files of the host", len(lab.files()), len(names))
        expect("beside them", sorted(os.listdir(lab.folder)), sorted({"bench", "canary.txt", "work"}))


@case("T10", "an interrupt ends a step in a call at once, and nothing is sent twice")
def _interrupted(lab: Lab) -> None:
    with _scene(lab) as scene:
        lab.says("kept = 'kept'")

        def interrupt() -> None:
            scene.service.arrived.wait(10.0)
            lab.box.interrupt()

        waiting = threading.Thread(target=interrupt)
        waiting.start()
        with lab.at_most(5.0, "the end of a call that was interrupted"):
            done = lab.run("ask('slow_write')", timeout=18.0)
        waiting.join()
        ensure(done.outcome is not Outcome.OK, f"the step ended as {told(done)}")
        with lab.at_most(4.0, "the end of a call that the time of its step ended"):
            # The broker ends the call with the time of the step: its code may just live to be told so.
            lab.outcome("ask('slow_write')", Outcome.TIMEOUT, Outcome.OK, timeout=1.0)
        expect("writes", scene.writes(), ["POST /slow", "POST /slow"])
        expect("the state", lab.says("kept"), "'kept'")
        lab.says(_ASK)
        _works(lab, scene)


@case("T11", "a process that ends in a call, or a state that is rebuilt, sends nothing twice")
def _rebuilt(lab: Lab) -> None:
    lab.begin(snapshots=False)
    with _scene(lab) as scene:
        lab.says("first = ask('add_item', text='first')[0]")
        lab.outcome(
            "import os, threading, time\n"
            "threading.Thread(target=ask, args=('slow_write',)).start()\ntime.sleep(0.5)\nos._exit(1)",
            Outcome.CRASHED,
        )
        expect("the state that was rebuilt", lab.says("first"), "'value'")
        expect("writes", scene.writes(), ["POST /items", "POST /slow"])
        _works(lab, scene)


@case("T12", "a key goes to no other server, though an answer sends on to it")
def _redirected(lab: Lab) -> None:
    with _scene(lab) as scene, contextlib.closing(Service()) as other:
        for target in (f"{other.url}/stolen", f"//{other.url.partition('//')[2]}/stolen", "http://localhost:1/"):
            scene.service.elsewhere = target
            said = lab.says("print(ask('away'))")
            ensure("not followed" in said, f"a redirect to {target}: {said[:200]}")
        expect("what another service got", other.log, [])
        _works(lab, scene)
