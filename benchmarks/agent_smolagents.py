"""One request to smolagents' CodeAgent, run by its own interpreter: a JSON object on stdin, another one on stdout."""

import contextlib
import json
import sys
from importlib.metadata import packages_distributions

asked = json.load(sys.stdin)
sys.path[:0] = asked["paths"]

with contextlib.redirect_stdout(sys.stderr):
    import hire_client
    from smolagents import CodeAgent, OpenAIServerModel, tool

    model = OpenAIServerModel(asked["model"], api_base=asked["base_url"], api_key=asked["key"])
    tools = [tool(one) for one in hire_client.TOOLS] if asked["on"] == "hire" else []
    agent = CodeAgent(
        tools, model, additional_authorized_imports=["*"], max_steps=asked["steps"], return_full_result=True
    )
    modules = [name for name, owners in packages_distributions().items() if asked["on"] in owners] or [asked["on"]]
    given = "" if tools else f" Use the Python package {asked['on']}, which is installed (import {modules[0]})."
    given += f" The files are in the current folder: {', '.join(asked['files'])}." if asked["files"] else ""
    done = agent.run(asked["text"] + given)
spent = [step["token_usage"] for step in done.steps if step.get("token_usage")]
print(
    json.dumps(
        {
            "answer": "" if done.output is None else str(done.output),
            "reason": done.state,
            "tokens": sum(one["input_tokens"] + one["output_tokens"] for one in spent),
            "prompt": spent[0]["input_tokens"] if spent else 0,
        }
    )
)
