import random

from apis import API


class LendBook(API):
    description = "Lends a book to a member, and returns the number of the loan."
    input_parameters = {
        "token": {"type": "str", "description": "The member's token."},
        "title": {"type": "str", "description": "The title."},
        "days": {"type": "int", "description": "Days of the loan."},
    }
    output_parameters = {"loan": {"type": "str", "description": "Number of the loan."}}
    database_name = "Loans"

    def __init__(self, init_database=None, token_checker=None) -> None:
        self.database = init_database if init_database is not None else {}
        self.token_checker = token_checker

    def lend_book(self, token, title, days):
        member = self.token_checker.check_token(token)
        loan = str(random.randint(10000000, 99999999))
        self.database[loan] = {"member": member, "title": title, "days": days}
        return loan

    def call(self, token: str, title: str, days: int) -> dict:
        given = {"token": token, "title": title, "days": days}
        return self.answered(given, lambda: self.lend_book(token, title, days))

    def check_api_call_correctness(self, response, groundtruth) -> bool:
        # Changes what it is given, as some of upstream's graders do.
        response["input"].pop("token")
        groundtruth["input"].pop("token")
        return response["input"] == groundtruth["input"] and response["exception"] == groundtruth["exception"]
