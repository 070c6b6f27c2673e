"""The contracts between the parts. Each part receives the others as arguments and never imports them."""

from codenav.protocols.agent import Agent, Checker, Environment, Listener, Model, Verifier
from codenav.protocols.index import Index, ScaledIndex, Store, WritableIndex
from codenav.protocols.ranking import Bringing, Encoder, Ranker
from codenav.protocols.sandbox import CallHandler, CallsOfStep, Sandbox, SandboxFiles, StartSandbox, StepHandler

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
    "Sandbox",
    "SandboxFiles",
    "ScaledIndex",
    "StartSandbox",
    "StepHandler",
    "Store",
    "Verifier",
    "WritableIndex",
]
