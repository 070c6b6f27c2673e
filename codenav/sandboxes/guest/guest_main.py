"""Entry of the guest: `python -I -S -B …/guest_main.py`. Talks to the host over descriptors 0 and 1."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from guest_supervisor import Supervisor

del sys.path[0]

if __name__ == "__main__":
    Supervisor.of_standard_streams().serve()
