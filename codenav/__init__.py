"""An LLM agent that uses real code instead of registered tools."""

__version__ = "0.1.0"
