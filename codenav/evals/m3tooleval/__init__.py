"""M3ToolEval: 82 requests in five small worlds, solved with the tools of one file each.

The benchmark is part of https://github.com/xingyaoww/code-act (`scripts/eval/m3tooleval`).
"""

from codenav.evals.m3tooleval.task import M3ToolEval

__all__ = ["M3ToolEval"]
