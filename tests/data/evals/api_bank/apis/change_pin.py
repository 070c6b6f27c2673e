from apis.api import API


class ChangePin(API):
    description = "Changes a pin in two calls: the first sends a code, the second takes it."
    input_parameters = {
        "stage": {"type": "str", "description": "ask or set"},
        "member": {"type": "str", "description": "Only in the first call."},
        "code": {"type": "int", "description": "Only in the second call."},
        "pin": {"type": "str", "description": "Only in the second call."},
    }
    output_parameters = {"status": {"type": "str", "description": "The code, or success"}}
    database_name = "Members"

    def __init__(self, init_database=None) -> None:
        self.database = init_database if init_database is not None else {}
        self.code = None

    def change_pin(self, stage, **kwargs):
        if stage == "ask":
            self.code, self.member = 4711, kwargs["member"]
            return self.code
        if self.code is None or kwargs["code"] != self.code:
            raise Exception("The code is wrong.")
        self.database[self.member]["pin"] = kwargs["pin"]
        return "success"

    def call(self, stage: str, **kwargs) -> dict:
        return self.answered({"stage": stage, **kwargs}, lambda: self.change_pin(stage, **kwargs))
