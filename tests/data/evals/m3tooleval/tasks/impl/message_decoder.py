from ..base import Task, register_task_iterator, ToolType


# Tool 1
def decode_hex(text: str):
    return bytes.fromhex(text).decode("ascii")


# Tool 2
def mirror(text: str):
    return text[::-1]


CUR_TASK_NAME = "message_decoder"
CUR_TOOLS = {
    "decode_hex": ToolType("decode_hex", "Reads hexadecimal digits as text. Arguments: text (str)", decode_hex, "decode_hex(text: str) -> str"),
    "mirror": ToolType("mirror", 'Writes a text backwards: "ab" becomes "ba"', mirror, "mirror(text: str) -> str"),
}

TASKS = [
    Task(
        name=f"{CUR_TASK_NAME}/mirrored_greeting",
        tools=CUR_TOOLS,
        instruction="Decode '6f6c6c6548' from hexadecimal and write it backwards.",
        expected_output=mirror(decode_hex("6f6c6c6548")),
        is_single_tool_task=False,
    ),
    # A text that ends with a full stop of its own.
    Task(
        name=f"{CUR_TASK_NAME}/with_full_stop",
        tools=CUR_TOOLS,
        instruction="Decode '596573202e' from hexadecimal, without the spaces.",
        expected_output=decode_hex("596573202e").replace(" ", ""),
        is_single_tool_task=False,
    ),
]

register_task_iterator(TASKS, len(TASKS))
