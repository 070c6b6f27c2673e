"""Base data of sandboxes: the results of steps, judgements of them, and the specification of a sandbox."""

from codenav.execution.results import (
    Copied,
    Digest,
    Display,
    Execution,
    ExecutionError,
    FileEntry,
    Held,
    Outcome,
    Output,
    ShellResult,
    Value,
    Variable,
)
from codenav.execution.spec import GIB, KIB, MIB, Mount, Resources, SandboxInfo, SandboxSpec
from codenav.execution.verdicts import NOT_VERIFIED, PARTLY, VERIFIED, CheckReport, Finding, Ran, Replayed, Verdict

__all__ = [
    "GIB",
    "KIB",
    "MIB",
    "NOT_VERIFIED",
    "PARTLY",
    "VERIFIED",
    "CheckReport",
    "Copied",
    "Digest",
    "Display",
    "Execution",
    "ExecutionError",
    "FileEntry",
    "Finding",
    "Held",
    "Mount",
    "Outcome",
    "Output",
    "Ran",
    "Replayed",
    "Resources",
    "SandboxInfo",
    "SandboxSpec",
    "ShellResult",
    "Value",
    "Variable",
    "Verdict",
]
