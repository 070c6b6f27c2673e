from apis.api import API


class RateBooks(API):
    description = "Rates several books at once."
    input_parameters = {"ratings": {"type": "list", "description": "Such as [{'title': 'Momo', 'stars': 5}]"}}
    output_parameters = {"mean": {"type": "float", "description": "Mean of the stars."}}

    def rate_books(self, ratings):
        return sum(one["stars"] for one in ratings) / len(ratings)

    def call(self, ratings: list) -> dict:
        return self.answered({"ratings": ratings}, lambda: self.rate_books(ratings))
