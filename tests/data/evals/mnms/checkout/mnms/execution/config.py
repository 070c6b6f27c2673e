import os

OPENAI_API_KEY = os.environ["OPENAI_API_KEY"]

MODEL_SELECTION = {
    "text_generation": "none",
}

DATA_PATH = "mnms/execution/data"
