from apis.api import API


class OpenAt(API):
    description = "Tells if the library is open on a day."
    input_parameters = {"day": {"type": "str", "description": "A day of the week."}}
    output_parameters = {"open": {"type": "bool", "description": "True or False"}}

    def __init__(self) -> None:
        self.closed = {"sunday"}

    def call(self, day: str) -> dict:
        return self.answered({"day": day}, lambda: day.lower() not in self.closed)

    def check_api_call_correctness(self, response, groundtruth) -> bool:
        return response["output"] == groundtruth["output"] and groundtruth["input"]["hour"] == 9
