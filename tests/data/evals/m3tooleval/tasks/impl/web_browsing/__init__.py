import json
import os
from collections import deque
from typing import List

from ...base import Task, register_task_iterator, ToolType


class WebPage:
    def __init__(self, name: str, content: str):
        self.name: str = name
        self.content: str = content


class WebBrowser:
    def __init__(self, pages: List[WebPage], default_page: str):
        self.pages = {page.name: page for page in pages}
        self.history = deque()
        self.current = default_page
        self.view()

    def click_url(self, url):
        if url not in self.pages:
            return "[URL not found.]"
        self.history.append(self.current)
        self.current = url
        return self.view()

    def go_to_previous_page(self):
        if self.history:
            self.current = self.history.pop()
        return self.view()

    def view(self):
        # The whole page
        return f"[{self.current}]\n{self.pages[self.current].content}"


# Both files are opened under the same name.
with open(os.path.join(os.path.dirname(__file__), "web_pages.jsonl")) as f:
    PAGES = [WebPage(**json.loads(line)) for line in f.read().splitlines()]
with open(os.path.join(os.path.dirname(__file__), "metadata.json")) as f:
    METADATA = json.load(f)

CUR_TASK_NAME = "web_browsing"


def create_tools():
    browser = WebBrowser(pages=PAGES, default_page="/")
    return {
        "click_url": ToolType("click_url", "Opens a page. Arguments: url (str).", browser.click_url, "click_url(url: str) -> str"),
        "go_to_previous_page": ToolType("go_to_previous_page", "Goes back.", browser.go_to_previous_page, "go_to_previous_page() -> str"),
        "view": ToolType("view", "The page.", browser.view, "view() -> str"),
    }


TASKS = []
for name, price in [(item["name"], item["price"]) for item in METADATA["items"]]:
    TASKS.append(
        Task(
            name=f"{CUR_TASK_NAME}/price_of_{name.lower().replace(' ', '_')}",
            tools=create_tools,
            instruction=f"Find the price of {name}.\nAnswer in the format of 'xx.xx' (e.g., 12.34).\n",
            expected_output=price,
        )
    )
# The total has more digits than the form that is asked for.
TASKS.append(
    Task(
        name=f"{CUR_TASK_NAME}/total_after_discount",
        tools=create_tools,
        instruction="Find the total price of all things, 10% off.\nAnswer in the format of 'xx.xx' (e.g., 12.34).\n",
        expected_output=sum(item["price"] for item in METADATA["items"]) * 0.9,
    )
)
register_task_iterator(TASKS, len(TASKS))
