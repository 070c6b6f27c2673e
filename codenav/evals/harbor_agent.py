"""codenav as an installed agent of Harbor: its tasks, containers and clouds; our agent inside the container.

harbor run -d terminal-bench@2.0 --agent-import-path codenav.evals.harbor_agent:CodenavAgent -m openai/gpt-5
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template

LOGS = "/logs/agent"
"""The folder of the container that Harbor keeps as `logs_dir`."""
TRAJECTORY = "trajectory.json"
FORWARDED = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CODENAV_BASE_URL")
"""Variables of Harbor's environment that the agent needs: the key and the server of the model."""
PATH = 'export PATH="$HOME/.local/bin:$PATH"'
INSTALL = f"""{PATH}
command -v codenav && exit
command -v uv || curl -LsSf https://astral.sh/uv/install.sh | sh
uv tool install --python 3.12 """
# The container is the sandbox: what the code does has to stay in it. A task's folder may hold nothing to index.
RUN = f"""{PATH}
printf %s "$REQUEST" > {LOGS}/request.md
codenav index . && on="--on ."
codenav run - --on {LOGS}/request.md $on --work-dir . --sandbox process OPTIONS \\
    < {LOGS}/request.md > {LOGS}/codenav.txt 2>&1
code=$?
codenav episodes show last --atif {LOGS}/{TRAJECTORY}
case $code in 0 | 1 | 3) ;; *) cat {LOGS}/codenav.txt; exit $code ;; esac"""
"""Exit codes 1 and 3 are an agent that did not solve its task, which Harbor's verifier finds out; others are faults."""


class CodenavAgent(BaseInstalledAgent):
    """`codenav run` in the container of a task, with the instruction as its request."""

    SUPPORTS_ATIF = True

    def __init__(self, *args: Any, options: str = "", **keywords: Any) -> None:
        """`options` of `codenav run`, such as `--ak options="--max-steps 50"`."""
        super().__init__(*args, **keywords)
        self._options = shlex.split(options)

    @staticmethod
    def name() -> str:
        """The name in Harbor's results."""
        return "codenav"

    def get_version_command(self) -> str:
        """The command whose output is the version."""
        return f"{PATH}; codenav --version"

    async def install(self, environment: Any) -> None:
        """Install codenav in a Python of its own, unless the image of the task has it."""
        need = "command -v codenav || command -v curl || (apt-get update && apt-get install -y curl)"
        await self.exec_as_root(environment, command=need)
        version = f"=={self._version}" if self._version else ""
        await self.exec_as_agent(environment, command=INSTALL + shlex.quote(f"codenav-agent{version}"))

    @with_prompt_template
    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Run the agent, and write its trajectory into the logs."""
        variables = {name: value for name in FORWARDED if (value := self._get_env(name))}
        model = ["--model", self.model_name.removeprefix("openai/")] if self.model_name else []
        command = RUN.replace("OPTIONS", shlex.join([*model, *self._options]))
        kept = {"REQUEST": instruction, "CODENAV_HOME": f"{LOGS}/codenav"}
        await self.exec_as_agent(environment, command=command, env=variables | kept)

    def populate_context_post_run(self, context: Any) -> None:
        """Tell Harbor the tokens and the cost. Nothing is known of a run that wrote no trajectory."""
        path = self.logs_dir / TRAJECTORY
        if not path.is_file():
            return
        totals = json.loads(path.read_text(encoding="utf-8"))["final_metrics"]
        context.n_input_tokens = totals["total_prompt_tokens"]
        context.n_output_tokens = totals["total_completion_tokens"]
        context.cost_usd = totals.get("total_cost_usd")
