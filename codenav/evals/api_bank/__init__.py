"""API-Bank: 186 dialogues whose last request is answered by calls of 52 APIs (DAMO-ConvAI, `api-bank`)."""

from codenav.evals.api_bank.task import ApiBank

__all__ = ["ApiBank"]
