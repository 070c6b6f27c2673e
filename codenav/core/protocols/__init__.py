"""The contracts between the parts. Each part receives the others as arguments and never imports them."""

from codenav.core.protocols.agent import Agent, Checker, Environment, Listener, Model, Reviewer, Verifier
from codenav.core.protocols.index import Index, ScaledIndex, Store, WritableIndex
from codenav.core.protocols.ranking import Bringing, Encoder, Ranker
from codenav.core.protocols.sandbox import CallHandler, CallsOfStep, Sandbox, SandboxFiles, StartSandbox, StepHandler

__all__ = [
    "Agent",
    "Bringing",
    "CallHandler",
    "CallsOfStep",
    "Checker",
    "Encoder",
    "Environment",
    "Index",
    "Listener",
    "Model",
    "Ranker",
    "Reviewer",
    "Sandbox",
    "SandboxFiles",
    "ScaledIndex",
    "StartSandbox",
    "StepHandler",
    "Store",
    "Verifier",
    "WritableIndex",
]
