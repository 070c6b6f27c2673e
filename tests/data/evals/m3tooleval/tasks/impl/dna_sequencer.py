import itertools
from ..base import Task, register_task_iterator, ToolType


def count_letters(sequence):
    # The import is inside, and so is this comment.
    from collections import Counter
    return dict(Counter(sequence))


def most_frequent(*args):
    counts = dict(zip(args[::2], args[1::2]))
    letter = max(counts, key=counts.get)
    return (letter, counts[letter])


def is_sequence(sequence):
    return set(sequence) <= set("ACGT")


CUR_TASK_NAME = "plants"
CUR_TOOLS = {
    "count_letters": ToolType("count_letters", "Counts letters.", count_letters, "count_letters(sequence: str) -> dict"),
    "most_frequent": ToolType("most_frequent", "The letter with the largest count.", most_frequent, "most_frequent(*args) -> (str, int)"),
    "is_sequence": ToolType("is_sequence", "True if only A, C, G and T occur.", is_sequence, "is_sequence(sequence: str) -> bool"),
}

TASKS = []


def task1_complex_operation(sequence):
    counts = count_letters(sequence)
    return most_frequent(*itertools.chain.from_iterable(counts.items()))


TASKS.append(Task(f"{CUR_TASK_NAME}/tuple", CUR_TOOLS, "Find the most frequent letter of 'GATTACA', with its count.", task1_complex_operation("GATTACA")))
TASKS.append(Task(f"{CUR_TASK_NAME}/dict", CUR_TOOLS, "Count the letters of 'ACCA'.", count_letters("ACCA")))
TASKS.append(Task(f"{CUR_TASK_NAME}/bool", CUR_TOOLS, "Is 'ACGU' a DNA sequence? Answer 'True' or 'False'.", is_sequence("ACGU")))

register_task_iterator(TASKS, len(TASKS))
