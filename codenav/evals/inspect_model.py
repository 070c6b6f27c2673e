"""A model of Inspect as a `protocols.Model`: our agent asks, Inspect sends, counts, logs and limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.from_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)
from inspect_ai.util import LimitExceededError

from codenav.agents.models.answers import read_answer
from codenav.agents.models.scripted import estimated_usage
from codenav.core.errors import ContextOverflow, LimitReached, ModelUnreachable
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.usage import Usage
from codenav.evals.settings import SAMPLING

_FINISHES = {"max_tokens": "length", "model_length": "length", "tool_calls": "stop"}
_ROLES: dict[str, Callable[..., ChatMessage]] = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant}


class InspectModel:
    """A model that the thread of a session asks, and the event loop of Inspect answers.

    It must be used in a thread that `anyio.to_thread.run_sync` started from that loop.
    """

    def __init__(self, model: Model, asked: Callable[[list[ChatMessage]], None]) -> None:
        """`asked` gets the whole conversation after each answer, in the event loop."""
        self._model, self._asked = model, asked
        self.ended_by: Exception | None = None
        """The error that ended the conversation: a limit of Inspect's, or a failure of the provider."""

    @property
    def name(self) -> str:
        """Inspect's name of the model."""
        return str(self._model)

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        """The next answer. Retries, stop reasons, prices and the sampling are the provider's."""
        began = time.monotonic()
        chat = [_ROLES.get(one.role, ChatMessageUser)(content=one.content) for one in messages]
        try:
            output = anyio.from_thread.run(self._generate, chat, timeout)
        except TimeoutError as error:
            raise ModelUnreachable(f"{self.name} did not answer within {timeout:.0f} s") from error
        except LimitExceededError as error:
            # For the episode it is a limit like its own: what was done until then is scored.
            self.ended_by = error
            reached = LimitReached(f"{error.type} (Inspect)", error.value, error.limit or 0)
            reached.hint = f"raise Inspect's {error.type} limit"
            raise reached from error
        except Exception as error:
            self.ended_by = error
            told = f"{type(error).__name__}: {error}"
            raise ModelUnreachable(told, hint="the sample's error in Inspect's log says more") from error
        if output.stop_reason == "model_length" and not output.completion.strip():
            raise ContextOverflow(f"the prompt does not fit into the context of {self.name}")
        return _completion(messages, output, time.monotonic() - began)

    def close(self) -> None:
        """Do nothing: Inspect closes its models."""

    async def _generate(self, chat: list[ChatMessage], timeout: float | None) -> ModelOutput:
        with anyio.fail_after(timeout):
            own = self._model.config
            config = GenerateConfig(
                temperature=SAMPLING["temperature"] if own.temperature is None else own.temperature,
                max_tokens=own.max_tokens or SAMPLING["max_tokens"],
            )
            output: ModelOutput = await self._model.generate(list(chat), config=config)
        self._asked([*chat, *([output.message] if output.choices else [])])
        return output


def _completion(messages: Sequence[Message], output: ModelOutput, seconds: float) -> Completion:
    """The answer as the agent reads it: without reasoning, and without anything after the first action."""
    content: Any = output.message.content if output.choices else ""
    reasoning = "" if isinstance(content, str) else "\n".join(getattr(part, "reasoning", "") or "" for part in content)
    calls = (output.message.tool_calls or []) if output.choices else []
    finish = _FINISHES.get(str(output.stop_reason), str(output.stop_reason))
    message = {
        "content": output.completion,
        "reasoning_content": reasoning.strip(),
        "tool_calls": [{"function": {"name": call.function, "arguments": call.arguments}} for call in calls],
    }
    answer = read_answer({"choices": [{"finish_reason": finish, "message": message}]})
    usage = output.usage
    if usage is None:
        spent = estimated_usage(messages, answer.text)
    else:
        # Inspect counts tokens of the cache apart.
        asked = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        spent = Usage(requests=1, input_tokens=asked, output_tokens=usage.output_tokens, seconds=seconds)
    return Completion(answer.text, usage=spent, reasoning=answer.reasoning, truncated=answer.truncated)
