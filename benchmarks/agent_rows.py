"""The rows of the benchmark of the agent: who is asked, and how."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import agent_setup
from agent_requests import DATA, Request

SECONDS = 300.0
"""The longest time for a request; half a minute later its processes are killed."""
STEPS = 8
"""Most steps of smolagents."""
KEY = "no-key-needed-here"
BY_HEART = (
    "You know much by heart. You cannot run code or look anything up. Answer with the bare answer and nothing else."
)
CONTEXT = 16384
"""Tokens of the context of the rivals' server: those of codenav's own."""
SERVER = """
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port = sys.argv[1], int(sys.argv[3]), 1, int(sys.argv[2])
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
params.use_jinja, params.cache_ram_mib = True, 512
server = xllamacpp.Server(params)
threading.Event().wait()
"""


@dataclass(frozen=True)
class Model:
    """The model of all rows."""

    spec: str
    """As `--model` takes it: gguf:FILE, or a name of the server."""
    base_url: str = ""
    """A server that runs already; empty: codenav serves its rows itself, and `serving` those of the rivals."""
    key: str = KEY

    @property
    def name(self) -> str:
        """Its short name."""
        return Path(self.spec.removeprefix("gguf:")).stem


@dataclass(frozen=True)
class Row:
    """A row of the table: a rival, or codenav with the options and environment variables that make the row."""

    name: str
    options: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Row:
        """Read `NAME:key=value,…`: options of `codenav run`, or environment variables where the key is in capitals."""
        name, _, rest = text.partition(":")
        pairs = [pair.partition("=") for pair in rest.split(",") if pair]
        options = [f"--set={key}{equals}{value}" for key, equals, value in pairs if not key.isupper()]
        return cls(name, tuple(options), {key: value for key, _, value in pairs if key.isupper()})

    @property
    def rival(self) -> bool:
        """True if codenav has no part in it."""
        return self.name in ("alone", "smolagents")

    def ask(self, request: Request, model: Model) -> dict[str, Any]:
        """Ask once. `answer`, `reason`, `agreement`, `seconds`, `tokens` and `prompt`: the tokens of the first call."""
        how = {"alone": self._alone, "smolagents": self._smolagents}.get(self.name, self._codenav)
        home = agent_setup.CACHE / "homes" / self.name
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("CODENAV_", "OPENAI_"))}
        variables |= {
            "CODENAV_HOME": str(home),
            "OPENAI_API_KEY": model.key,
            "HIRE": agent_setup.HIRE,
            **self.variables,
        }
        told = {"answer": "", "reason": "", "agreement": "", "tokens": 0, "prompt": 0}
        if not self.rival:
            _fresh(home)
            subprocess.run(_codenav("index", request), env=variables, capture_output=True)
        with tempfile.TemporaryDirectory() as name, agent_setup.service():
            agent_setup.copy_files(request, Path(name))
            began = time.perf_counter()
            told |= how(request, model, Path(name), variables)
            return told | {"seconds": round(time.perf_counter() - began, 2)}

    def _codenav(self, request: Request, model: Model, folder: Path, variables: dict[str, str]) -> dict[str, Any]:
        served = ["--model", model.name, "--base-url", model.base_url] if model.base_url else ["--model", model.spec]
        command = [
            *_codenav("run", request), *served, "--json", "--work-dir", str(folder), "--max-seconds", f"{SECONDS:g}",
            *self.options, "--", request.text,
        ]  # fmt: skip
        status, output, errors = _limited(command, env=variables, cwd=folder)
        if not output and status in (2, 4):
            sys.exit(f"{self.name} cannot run: {errors.strip()[-600:]}")
        try:
            document = json.loads(output)
        except ValueError:
            return {"reason": f"exit {status}: {errors.strip()[-300:]}"}
        calls = [step["usage"] for step in document["steps"] if step["usage"]["requests"]]
        return {
            "answer": document["answer"] if document["status"] == "done" else "",
            "reason": f"{document['status']} {document['reason']}".strip(),
            "agreement": document["agreement"],
            "tokens": document["usage"]["input_tokens"] + document["usage"]["output_tokens"],
            # Each script of a step is drawn for the same prompt.
            "prompt": calls[0]["input_tokens"] // calls[0]["requests"] if calls else 0,
        }

    def _smolagents(self, request: Request, model: Model, folder: Path, variables: dict[str, str]) -> dict[str, Any]:
        asked = {
            "text": request.text, "on": request.on, "files": request.files, "steps": STEPS, "paths": [str(DATA)],
            "model": model.name, "base_url": model.base_url, "key": model.key,
        }  # fmt: skip
        script = str(Path(__file__).with_name("agent_smolagents.py"))
        command = [agent_setup.python(agent_setup.SMOLAGENTS), script]
        status, output, errors = _limited(command, env=variables, cwd=folder, told=json.dumps(asked))
        try:
            return dict(json.loads(output))
        except ValueError:
            return {"reason": f"exit {status}: {errors.strip()[-300:]}"}

    def _alone(self, request: Request, model: Model, folder: Path, variables: dict[str, str]) -> dict[str, Any]:
        import openai

        given = "" if request.on == "hire" else f" Answer as the Python package {request.on} does."
        with openai.OpenAI(base_url=model.base_url, api_key=model.key, timeout=SECONDS) as client:
            done = client.chat.completions.create(
                model=model.name,
                messages=[{"role": "system", "content": BY_HEART}, {"role": "user", "content": request.text + given}],
                temperature=0,
                max_tokens=200,
            )
        assert done.usage is not None
        answer = done.choices[0].message.content or ""
        return {"answer": answer, "tokens": done.usage.total_tokens, "prompt": done.usage.prompt_tokens}


@contextlib.contextmanager
def serving(model: Model, context: int = CONTEXT) -> Iterator[Model]:
    """The model behind llama.cpp's server, unless a server was named."""
    if model.base_url:
        yield model
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file = model.spec.removeprefix("gguf:")
    command = [sys.executable, "-c", SERVER, file, str(port), str(context)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 120
            while not _healthy(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"the server of {file} does not start: is xllamacpp installed?")
                time.sleep(0.2)
            yield Model(model.spec, f"http://127.0.0.1:{port}/v1")
        finally:
            process.kill()


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False


def _codenav(verb: str, request: Request) -> list[str]:
    """The beginning of a command of codenav on the code base of a request."""
    special = {"heddle": str(agent_setup.REPOSITORY), "hire": f"openapi:{agent_setup.SPECIFICATION}"}
    source = special.get(request.on, f"pkg:{request.on}")
    where = ["--on", source] if verb == "run" else [source]
    return [sys.executable, "-m", "codenav", verb, *where, "--python", str(agent_setup.PACKAGES)]


def _fresh(home: Path) -> None:
    """Forget what earlier requests taught. Indexes stay, and the servers of models are shared by the rows."""
    home.mkdir(parents=True, exist_ok=True)
    for learned in ("episodes", "graphs", "objects"):
        shutil.rmtree(home / learned, ignore_errors=True)
    (agent_setup.CACHE / "models").mkdir(mode=0o700, exist_ok=True)
    if not (home / "models").exists():
        (home / "models").symlink_to(agent_setup.CACHE / "models")


def _limited(command: list[str], *, told: str = "", **more: Any) -> tuple[int, str, str]:
    """Exit code, output and errors of a command that is killed, with its children, long after its time."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes, **more) as process:
        try:
            output, errors = process.communicate(told, timeout=SECONDS + 30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output, errors
