from ..base import Task, register_task_iterator, ToolType


def with_duty(price, rate):
    return price + price * rate / 100


def calculator(expression: str) -> float:
    try:
        return eval(expression)
    except:
        return f"Failed to evaluate expression: {expression}"


CUR_TASK_NAME = "trade_calculator"
CUR_TOOLS = {
    "with_duty": ToolType("with_duty", "Adds a duty. Arguments: price (float), rate (float, in %)", with_duty, "with_duty(price: float, rate: float) -> float"),
    "calculator": ToolType("calculator", "Evaluates an expression.", calculator, "calculator(expression: str) -> float"),
}

TASKS = [
    # Upstream's checker cuts fractions off, so that 20 passes for 20.7.
    Task(f"{CUR_TASK_NAME}/fraction", CUR_TOOLS, "What is the price of 18 with a duty of 15 %?", with_duty(18, 15)),
    # Upstream's checker takes a list as text only in the one form that Python writes.
    Task(f"{CUR_TASK_NAME}/list", CUR_TOOLS, "What are the prices of 100 and 200 with a duty of 10 %, as a list?", [with_duty(p, 10) for p in (100, 200)]),
]

register_task_iterator(TASKS, len(TASKS))
