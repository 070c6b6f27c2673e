"""The shards of an eval on a Ray cluster, one task each; then their merge.

    python examples/ray_eval.py 8 runs/m3 m3tooleval --data /shared/code-act --model gpt-5

The arguments are the number of shards, the run, and what else `codenav eval run` takes. All nodes see the folder of
the run. A task that is lost is started again by Ray, and goes on where it was.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ray


@ray.remote(num_cpus=2, max_retries=3, retry_exceptions=True)
def shard(number: int, shards: int, run: str, arguments: list[str]) -> str:
    """Run or resume one shard; return its folder."""
    out = f"{run}-{number}"
    fresh = [*arguments, "--shard", f"{number}/{shards}"]
    what = ["--resume"] if Path(out, "head.json").exists() else fresh
    subprocess.run([sys.executable, "-m", "codenav", "eval", "run", *what, "--out", out], check=True)
    return out


if __name__ == "__main__":
    count, run, arguments = int(sys.argv[1]), str(Path(sys.argv[2]).absolute()), sys.argv[3:]
    parts = ray.get([shard.remote(number, count, run, arguments) for number in range(1, count + 1)])
    sys.exit(subprocess.run([sys.executable, "-m", "codenav", "eval", "merge", *parts, "--out", run]).returncode)
