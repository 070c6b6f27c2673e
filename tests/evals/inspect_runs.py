"""A program that runs m&m's under Inspect with scripted answers and prints outcomes as JSON.

It is a process of its own because Inspect changes logging, signals and the display of the process that it runs in.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, ModelUsage, get_model

import codenav.evals.inspect_registry  # noqa: F401
from codenav import evals
from codenav.agents.models import ScriptedModel
from codenav.core.actions import Action, Code, CodeSummary, Done, Search
from codenav.evals.mnms import Mnms
from codenav.evals.mnms.programs import program_of

DATA = Path(__file__).parent.parent / "data" / "evals" / "mnms"
OPTIONS: dict[str, Any] = {"tasks": str(DATA / "plans.json"), "any_commit": True, "stub_tools": True}
TASK = Mnms(DATA / "checkout", **OPTIONS)
SAMPLED: list[list[Any]] = []
"""Temperature, limit of tokens and seed of each request."""
PLANNED = {task.request: task for task in TASK.file.tasks}


def script(request: str) -> list[Action]:
    """Right answers; for the id 7 the last call is missing, for the id 13 the summary."""
    task = PLANNED[request]
    program = program_of(task.plan[:-1] if task.id == "7" else task.plan)
    summary = [] if task.id == "13" else [CodeSummary(program)]
    return [Search("image"), Code(program), *summary, Done("It is done.")]


def answered(messages: list[ChatMessage], tools: object, choice: object, config: GenerateConfig) -> ModelOutput:
    """The next scripted answer, by what the conversation holds."""
    SAMPLED.append([config.temperature, config.max_tokens, config.seed])
    asked = next(message.text for message in messages if message.role == "user")
    request = next(request for request in PLANNED if request in asked)
    turn = sum(message.role == "assistant" for message in messages)
    return output(script(request)[turn].to_xml())


def output(text: str) -> ModelOutput:
    """An answer with its tokens, which Inspect would count with a table from the network otherwise."""
    made = ModelOutput.from_content("mockllm/model", text)
    made.usage = ModelUsage(input_tokens=100, input_tokens_cache_read=10, output_tokens=20, total_tokens=130)
    return made


def failing(messages: list[ChatMessage], tools: object, choice: object, config: GenerateConfig) -> ModelOutput:
    """A provider that is down for one sample."""
    if "street.jpg" in next(message.text for message in messages if message.role == "user"):
        raise RuntimeError("the provider is down")
    return answered(messages, tools, choice, config)


def slow(messages: list[ChatMessage], tools: object, choice: object, config: GenerateConfig) -> Any:
    """A provider that never answers."""

    async def later() -> ModelOutput:
        import anyio

        await anyio.sleep(600)
        return output("")

    return later()


def logged(folder: Path, outputs: Any, task_args: dict[str, Any] | None = None, **more: Any) -> EvalLog:
    """The log of a run, read back from its file."""
    (log,) = inspect_eval(
        "codenav/mnms",
        task_args={"data": str(DATA / "checkout"), "sandbox": "process", **OPTIONS, **(task_args or {})},
        model=get_model("mockllm/model", custom_outputs=outputs),
        log_dir=str(folder / "logs"),
        display="none",
        **more,
    )
    return read_eval_log(log.location)


def told(log: EvalLog) -> dict[str, Any]:
    """The facts that the tests compare."""
    return {
        "status": log.status,
        "task": log.eval.task,
        "table": {
            k: m.value for score in (log.results.scores if log.results else []) for k, m in score.metrics.items()
        },
        "samples": [
            {
                "id": str(sample.id),
                "epoch": sample.epoch,
                "error": sample.error.message if sample.error else None,
                "limit": sample.limit.type if sample.limit else None,
                "scores": {name: score.metadata for name, score in (sample.scores or {}).items()},
                "values": {name: score.value for name, score in (sample.scores or {}).items()},
                "messages": [message.role for message in sample.messages],
                "prompt": sample.messages[0].text if sample.messages else "",
                "result": sample.store.get("codenav:result"),
                "tokens": [usage.total_tokens for usage in sample.model_usage.values()],
            }
            for sample in log.samples or []
        ],
    }


def main(folder: Path) -> None:
    """Run all scenarios."""
    same = told(logged(folder, answered, limit=5, epochs=2))
    same["sampled"] = [*SAMPLED]
    SAMPLED.clear()
    part = told(logged(folder, answered, {"shard": "1/2", "limit": 4}, temperature=0.7, seed=3, max_tokens=50))
    part["sampled"] = [*SAMPLED]
    ours = evals.run(
        TASK, out=folder / "run", model=lambda sample: ScriptedModel(script(sample.request)), limit=5, epochs=2,
        sandbox="process", checks_lint=False, checks_types=False,
    )  # fmt: skip
    down = told(logged(folder, failing, limit=2, retry_on_error=0))
    tokens = told(logged(folder, answered, limit=1, token_limit=200))
    began = time.monotonic()
    hanging = told(logged(folder, slow, limit=1, time_limit=15))
    hanging["seconds"] = time.monotonic() - began
    shard = evals.run(
        TASK, out=folder / "shard", model=lambda sample: ScriptedModel(script(sample.request)), limit=4, shard="1/2",
        sandbox="process", checks_lint=False, checks_types=False,
    )  # fmt: skip
    part["ours"] = [result.id for result in shard.results]
    results = [result.to_dict() for result in ours.results]
    print(json.dumps({"same": same, "part": part, "down": down, "tokens": tokens, "hanging": hanging,
                      "results": results, "table": ours.table}))  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
