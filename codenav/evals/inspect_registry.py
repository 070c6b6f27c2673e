"""The entry point of Inspect: the tasks `codenav/m3tooleval`, `codenav/api_bank` and `codenav/mnms`."""

from __future__ import annotations

import codenav.evals.inspect_tasks as inspect_tasks

m3tooleval = inspect_tasks.registered(inspect_tasks.m3tooleval)
api_bank = inspect_tasks.registered(inspect_tasks.api_bank)
mnms = inspect_tasks.registered(inspect_tasks.mnms)

__all__ = ["api_bank", "m3tooleval", "mnms"]
