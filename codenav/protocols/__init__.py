"""The contracts between the parts. Each part receives the others as arguments and never imports them."""

from codenav.protocols.agent import Agent, Checker, Environment, Listener, Model, Verifier
from codenav.protocols.index import Index, Store, WritableIndex
from codenav.protocols.sandbox import CallHandler, CallsOfStep, Sandbox, SandboxFiles, StartSandbox, StepHandler

__all__ = [
    "Agent",
    "CallHandler",
    "CallsOfStep",
    "Checker",
    "Environment",
    "Index",
    "Listener",
    "Model",
    "Sandbox",
    "SandboxFiles",
    "StartSandbox",
    "StepHandler",
    "Store",
    "Verifier",
    "WritableIndex",
]
