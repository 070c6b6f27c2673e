"""The process that serves one model: llama.cpp's server on the loopback interface, for one user, until nobody uses it.

Its arguments are FOLDER, GGUF, NAME, CONTEXT and KEEP_ALIVE. FOLDER has a lock that is held as long as the process
lives, `state.json` once it answers, and `used`, whose time is that of the last use. The key is drawn here and stands in
`state.json` only: arguments can be read by everybody.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NoReturn

from codenav.agents.models.local.memory import PROMPTS_KEPT, processors
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.locks import locked
from codenav.core.system.process_identity import Owner

ALIVE, STATE, USED, LOG = ".alive", "state.json", "used", "log"
UNUSED = "nobody used it"
"""The last line of the log of a server that ended by itself."""
LOOKS = 10
"""Tries for the lock: somebody who looks whether a server lives has it for a moment."""
LONGEST = 3600.0
"""Seconds after the last use in which an answer may still be written."""
TICK = 1.0
"""Seconds between two looks at the time of the last use."""


def main() -> None:
    """Serve in a process that outlives this one, unless another serves the model already."""
    folder, path, name, context, keep_alive = sys.argv[1:]
    os.umask(0o077)
    for _ in range(LOOKS):
        with locked(Path(folder), ALIVE, wait=False) as free:
            if free:
                # The child has the lock from here on.
                if os.fork():
                    os._exit(0)
                os.setsid()
                os.chdir("/")
                (Path(folder) / STATE).unlink(missing_ok=True)
                _serve(Path(folder), path, name, int(context), float(keep_alive))
        time.sleep(0.05)


def _serve(folder: Path, path: str, name: str, context: int, keep_alive: float) -> NoReturn:
    import xllamacpp

    key = secrets.token_urlsafe(24)
    params = xllamacpp.CommonParams()
    params.model.path = path
    # Clients see this name, and not the path.
    params.model_alias = {name}
    params.n_ctx, params.n_parallel, params.cache_ram_mib = context, 1, PROMPTS_KEPT >> 20
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    params.use_jinja, params.ui, params.endpoint_slots = True, False, True
    # Else the header is read twice, to share out the memory of graphics cards.
    params.fit_params = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = processors()
    (folder / USED).touch()
    server = xllamacpp.Server(params)
    url = server.listening_address
    told = {"name": name, "path": path, "url": f"{url}/v1", "key": key, "owner": Owner.this_process().to_dict()}
    os.utime(folder / USED)
    write_whole(folder / STATE, json.dumps({**told, "context": context, "keep_alive": keep_alive}))
    _until_unused(folder, keep_alive, f"{url}/slots", key)
    (folder / STATE).unlink(missing_ok=True)
    print(f"\n{UNUSED}", flush=True)
    # Without the destructor, which waits for answers that nobody reads.
    os._exit(0)


def _until_unused(folder: Path, keep_alive: float, slots: str, key: str) -> None:
    """Return once nothing was asked for so long; at once if the folder is gone."""
    worked = 0.0
    while True:
        time.sleep(min(TICK, keep_alive / 4))
        try:
            used = (folder / USED).stat().st_mtime
        except OSError:
            return
        if time.time() - max(used, worked) < keep_alive:
            continue
        if not _works(slots, key) or time.time() - used > LONGEST:
            return
        worked = time.time()


def _works(slots: str, key: str) -> bool:
    """True while an answer is written, also a long one. The server says so between two steps, which may take long."""
    try:
        return any(slot.get("is_processing") for slot in answer_of(slots, key))
    except (OSError, ValueError):
        return True


def answer_of(url: str, key: str) -> Any:
    """The answer of a server.

    Raises:
        OSError, ValueError: it does not answer in ten seconds, or no JSON.
    """
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        # Proxies are for other machines.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        error.close()
        raise
