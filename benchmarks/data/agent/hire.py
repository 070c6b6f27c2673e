"""The service of hire.json: a bicycle hire in memory, for reading only. Standard library: `python hire.py PORT`."""

from __future__ import annotations

import json
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

drawn = random.Random(7)
NAMES = [
    "Old Harbour",
    "Mill Bridge",
    "North Gate",
    "Botanic Garden",
    "Fish Market",
    "University",
    "Opera",
    "Tram Depot",
]
STATIONS = [
    {
        "id": 11 + number,
        "name": name,
        "district": ["Port", "Centre", "Hill"][number % 3],
        "docks": drawn.randint(12, 40),
    }
    for number, name in enumerate(NAMES)
]
BIKES = [
    {
        "id": 401 + number,
        "model": drawn.choice(["Heron", "Swift", "Tern", "Crane"]),
        "electric": drawn.random() < 0.4,
        "kilometres": drawn.randint(300, 9000), "station": drawn.choice(STATIONS)["id"],
    }
    for number in range(40)
]  # fmt: skip
TRIPS = [
    {
        "id": 9001 + number, "bike": drawn.choice(BIKES[:12])["id"], "day": f"2026-05-0{drawn.randint(1, 4)}",
        "start": drawn.choice(STATIONS)["id"], "end": drawn.choice(STATIONS)["id"], "minutes": drawn.randint(4, 119),
    }
    for number in range(120)
]  # fmt: skip
MEMBERS = [
    {"id": 21 + number, "name": name, "card": drawn.choice(["none", "silver", "gold"])}
    for number, name in enumerate(
        ["Ines", "Karel", "Mbali", "Oskar", "Pia", "Quentin", "Rosa", "Sami", "Tove", "Umar", "Vera"]
    )
]
REPAIRS = [
    {"id": number, "bike": drawn.choice(BIKES[:12])["id"], "work": drawn.choice(["brakes", "tyre", "chain", "light"]),
     "cost": drawn.randint(400, 6000) / 100}
    for number in range(50)
]  # fmt: skip
OFF = {"none": 0.0, "silver": 0.25, "gold": 0.5}
TABLES = {"stations": STATIONS, "bikes": BIKES, "trips": TRIPS, "members": MEMBERS, "repairs": REPAIRS}


def answer(path: str, asked: dict[str, str]) -> Any:
    """The answer to a request; KeyError, ValueError or StopIteration where there is none."""
    table, _, number = path.strip("/").partition("/")
    if table == "price":
        minutes, electric = int(asked["minutes"]), asked.get("electric", "false").lower() == "true"
        euros = (1.5 if electric else 0.8) + max(0, minutes - 15) * (0.14 if electric else 0.06)
        return {"euros": round(euros * (1 - OFF[asked.get("card", "none")]), 2)}
    if number:
        return next(one for one in TABLES[table] if one["id"] == int(number))
    return [one for one in TABLES[table] if all(str(one[key]).lower() == value.lower() for key, value in asked.items())]


class Hire(BaseHTTPRequestHandler):
    """The answers of the hire."""

    def do_GET(self) -> None:
        """Answer with JSON."""
        parts = urlsplit(self.path)
        try:
            status, found = 200, answer(parts.path, dict(parse_qsl(parts.query)))
        except (KeyError, ValueError, StopIteration):
            status, found = 404, {"message": f"there is no {self.path}"}
        data = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hire) as server:
        print("ready", flush=True)
        server.serve_forever()
