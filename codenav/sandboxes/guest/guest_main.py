"""The entry point of the guest: `python -s -S -B …/guest_main.py`. Talks to the host over descriptors 0 and 1."""

from __future__ import annotations

import sys

from guest_supervisor import Supervisor

# Python put this folder there; the host says what the code may import.
del sys.path[0]

if __name__ == "__main__":
    Supervisor.of_standard_streams().serve()
