"""The start-up time of `codenav --help` and `import codenav` against an interpreter that does nothing.

    python benchmarks/startup.py [RUNS]

Medians of whole processes, the commands taken in turn. Budgets: --help 0.4 s, import 0.2 s.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import codenav": ["-c", "import codenav"],
    "codenav --help": ["-m", "codenav", "--help"],
    "codenav run --help": ["-m", "codenav", "run", "--help"],
    "codenav episodes list": ["-m", "codenav", "episodes", "list"],
    "import openai (the client alone)": ["-c", "import openai"],
}


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
            )
            seconds[name].append(time.perf_counter() - began)
    floor = statistics.median(seconds["python -c pass"])
    print(f"{'command':<34} {'median ms':>9} {'max ms':>8} {'ratio':>6}   ({runs} runs)")
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"{name:<34} {median * 1000:>9.0f} {max(times) * 1000:>8.0f} {median / floor:>6.1f}")


if __name__ == "__main__":
    main()
