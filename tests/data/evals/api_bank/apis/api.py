"""The base class of the APIs."""


class API:
    """An API."""

    def check_api_call_correctness(self, response, groundtruth) -> bool:
        """True if a response is as expected."""
        return all(response[key] == groundtruth[key] for key in ("input", "output", "exception"))

    def answered(self, given, method) -> dict:
        """The response: what a method returns, or the text of what it raises."""
        try:
            return {"api_name": type(self).__name__, "input": given, "output": method(), "exception": None}
        except Exception as error:
            return {"api_name": type(self).__name__, "input": given, "output": None, "exception": str(error)}
