"""A small benchmark in the format of M3ToolEval, for tests: other tools' texts, other data, other tasks."""

from collections import namedtuple

from tqdm import tqdm

from .repl import PythonREPL

ToolType = namedtuple("ToolType", ["name", "description", "function", "fn_signature"])


class Task:
    def __init__(self, name, tools, instruction, expected_output, is_single_tool_task=True):
        self.name = name
        self.tools = tools() if callable(tools) else tools
        self.instruction = instruction
        self.expected_output = expected_output
        self.is_single_tool_task = is_single_tool_task
        print(f"Task {self.name}: {self.expected_output}")


task_iterators = []


def register_task_iterator(task_iter, length):
    task_iterators.append((task_iter, length))


def get_task_iterator():
    for tasks, _ in task_iterators:
        yield from tqdm(tasks)
