from apis.api import API


class GetToken(API):
    description = "Gets the token of a member of the library."
    input_parameters = {
        "member": {"type": "str", "description": "Name of the member."},
        "pin": {"type": "str", "description": "The secret number."},
    }
    output_parameters = {"token": {"type": "str", "description": "The token."}}
    database_name = "Members"

    def __init__(self, init_database=None) -> None:
        self.database = init_database if init_database is not None else {}

    def get_token(self, member, pin):
        if self.database.get(member, {}).get("pin") != pin:
            raise Exception("Member and pin do not fit.")
        return {"token": self.database[member]["token"]}

    def call(self, member: str, pin: str) -> dict:
        return self.answered({"member": member, "pin": pin}, lambda: self.get_token(member, pin))
