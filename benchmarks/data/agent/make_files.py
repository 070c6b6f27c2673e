"""The files of the requests, in the current folder; always the same."""

import csv
import json
import random

from PIL import Image, ImageDraw

drawn = random.Random(33)

with open("sales.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["day", "region", "goods", "amount", "price"])
    for number in range(60):
        region, goods = drawn.choice(["North", "Coast", "Hills", "Isles"]), drawn.choice(["salt", "oil", "wool"])
        writer.writerow(
            [f"2025-03-{number // 2 + 1:02}", region, goods, drawn.randint(1, 40), drawn.randint(200, 900) / 100]
        )

books = [
    ("The Lamp", "A. Moreau", 1988, 212), ("Salt Roads", "A. Moreau", 1997, 340),
    ("Winter Bees", "J. Okafor", 2003, 188), ("Low Water", "A. Moreau", 2011, 275),
    ("Nine Doors", "P. Lindqvist", 1991, 420), ("The Orchard", "J. Okafor", 2015, 301),
]  # fmt: skip
with open("books.json", "w") as file:
    json.dump({"shelf": [dict(zip(("title", "author", "year", "pages"), book, strict=True)) for book in books]}, file)


def part(depth: int) -> dict[str, object]:
    """A part of the machine with the parts in it."""
    inside = [part(depth - 1) for _ in range(drawn.randint(1, 3))] if depth else []
    return {"code": f"P{drawn.randint(100, 999)}", "mass": drawn.randint(5, 95) / 10, "parts": inside}


with open("machine.json", "w") as file:
    json.dump({"name": "press", "frame": part(2), "drive": part(1)}, file)

picture = Image.new("RGB", (320, 208), (24, 78, 119))
draw = ImageDraw.Draw(picture)
draw.ellipse((40, 30, 150, 140), fill=(217, 160, 33))
picture.save("harbour.png")
draw.rectangle((200, 60, 310, 200), fill=(181, 34, 48))
picture.save("harbour_later.png")
Image.new("RGB", (457, 283), (90, 120, 60)).save("meadow.jpg")

points, latitude, longitude, height = [], 46.5, 8.02, 1200.0
for _ in range(40):
    latitude, longitude = latitude + drawn.uniform(0, 0.002), longitude + drawn.uniform(-0.001, 0.002)
    height += drawn.uniform(-12, 25)
    points.append(f'<trkpt lat="{latitude:.5f}" lon="{longitude:.5f}"><ele>{height:.1f}</ele></trkpt>')
with open("walk.gpx", "w") as file:
    head = '<gpx version="1.1" creator="made" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Ridge</name><trkseg>'
    file.write(head + "\n".join(points) + "</trkseg></trk></gpx>\n")

places = ["Town Hall", "Library", "Old Mill"]
with open("calendar.ics", "w", newline="") as file:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//made//EN"]
    for number in range(14):
        day, hour, hours = number * 2 + 1, drawn.randint(8, 17), drawn.randint(1, 4)
        lines += [
            "BEGIN:VEVENT", f"UID:{number}@made", f"SUMMARY:Meeting {number}", f"LOCATION:{drawn.choice(places)}",
            f"DTSTART:202601{day:02}T{hour:02}0000", f"DTEND:202601{day:02}T{hour + hours:02}0000", "END:VEVENT",
        ]  # fmt: skip
    file.write("\r\n".join([*lines, "END:VCALENDAR", ""]))

CHANGE = """--- a/pump.py
+++ b/pump.py
@@ -1,3 +1,4 @@
 import valve
-RATE = 3
+RATE = 4
+LIMIT = 90
 pump = valve.Pump(RATE)
--- a/valve.py
+++ b/valve.py
@@ -10,2 +10,5 @@
 class Pump:
+    def __init__(self, rate):
+        self.rate = rate
+
     pass
"""
with open("change.diff", "w") as file:
    file.write(CHANGE)
