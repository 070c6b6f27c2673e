from apis.api import API


class ReturnBook(API):
    description = "Ends a loan."
    input_parameters = {"loan": {"type": "str", "description": "Number of the loan."}}
    output_parameters = {"status": {"type": "str", "description": "success or failed"}}
    database_name = "Loans"

    def __init__(self, init_database=None) -> None:
        self.database = init_database if init_database is not None else {}

    def return_book(self, loan):
        if loan not in self.database:
            raise Exception("There is no such loan.")
        del self.database[loan]
        return "success"

    def call(self, loan: str) -> dict:
        return self.answered({"loan": loan}, lambda: self.return_book(loan))
