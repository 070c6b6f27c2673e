from typing import Dict, List
from ..base import Task, register_task_iterator, ToolType

PLACES = ['"X"', '"Y"']

trains = [
    {"from_location": PLACES[0], "to_location": PLACES[1], "price": 30},
    {"from_location": PLACES[0], "to_location": PLACES[1], "price": 20},
]

KNOWN = PLACES.copy()
KNOWN += [place.strip('"') for place in KNOWN]
KNOWN = set(KNOWN)


def find_trains(from_location: str, to_location: str) -> List[Dict]:
    from_location, to_location = from_location.strip('"'), to_location.strip('"')
    if from_location not in KNOWN or to_location not in KNOWN:
        raise ValueError(f"Places are {PLACES}")
    return [
        train
        for train in trains
        if train["from_location"].strip('"') == from_location and train["to_location"].strip('"') == to_location
    ]


CUR_TASK_NAME = "travel_itinerary_planning"
CUR_TOOLS = {
    # The signature lacks an argument, as one of upstream's does.
    "find_trains": ToolType("find_trains", "Finds trains.\nReturns a list of dicts.", find_trains, "find_trains(destination: str) -> List[Dict]"),
    "min": ToolType("min", "The smallest value.", min, "min(*args: float) -> float"),
    "sum": ToolType("sum", "The sum.", lambda *args: sum(args), "sum(*args: float) -> float"),
}

TASKS = [
    Task(f"{CUR_TASK_NAME}/cheapest", CUR_TOOLS, 'What does the cheapest train from "X" to "Y" cost?', min(t["price"] for t in find_trains("X", "Y"))),
]
register_task_iterator(TASKS, len(TASKS))
