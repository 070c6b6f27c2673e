import os

from googletrans import LANGUAGES, Translator

from apis.api import API


class Translate(API):
    description = "Translates a text."
    input_parameters = {
        "src": {"type": "str", "description": "The text."},
        "tgt_lang": {"type": "str", "description": "The language to translate to."},
    }
    output_parameters = {"text": {"type": "str", "description": "The translated text."}}

    def __init__(self, init_database=None) -> None:
        self.translator, self.languages = Translator(), LANGUAGES

    def call(self, src: str, **kwargs) -> dict:
        proxy = os.environ.get("ALL_PROXY")
        os.environ["ALL_PROXY"] = ""
        response = self.answered({"src": src, **kwargs}, lambda: self.translator.translate(src, **kwargs).text)
        os.environ["ALL_PROXY"] = proxy
        return response
