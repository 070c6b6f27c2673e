from apis.api import API


class CheckToken(API):
    description = "Checks a member's token."
    input_parameters = {"token": {"type": "str", "description": "The token."}}
    output_parameters = {"member": {"type": "str", "description": "The member."}}
    database_name = "Members"

    def __init__(self, init_database=None) -> None:
        self.database = init_database if init_database is not None else {}

    def check_token(self, token):
        for member, facts in self.database.items():
            if facts["token"] == token:
                return member
        raise Exception("The token is invalid.")

    def call(self, token: str) -> dict:
        return self.answered({"token": token}, lambda: self.check_token(token))
