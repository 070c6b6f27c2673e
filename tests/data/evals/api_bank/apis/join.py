import random
import string

from .api import API


class Join(API):
    description = "Makes a new member of the library."
    input_parameters = {
        "member": {"type": "str", "description": "Name of the member."},
        "pin": {"type": "str", "description": "The secret number."},
    }
    output_parameters = {"token": {"type": "str", "description": "The token."}}
    database_name = "Members"

    def __init__(self, init_database=None) -> None:
        self.database = init_database if init_database is not None else {}

    def join(self, member, pin):
        token = "".join(random.choices(string.ascii_letters + string.digits, k=8)).lower()
        self.database[member] = {"pin": pin, "token": token}
        return {"token": token}

    def call(self, member: str, pin: str) -> dict:
        return self.answered({"member": member, "pin": pin}, lambda: self.join(member, pin))
