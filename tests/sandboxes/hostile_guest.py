"""Stands in for a supervisor that was taken over: greets, then answers each request with the next given bytes.

They are in a file that is its to remove. The last ones are repeated; at `silent` it does not answer, at `end` it ends.
"""

import json
import os
import struct
import sys
import time

with open(sys.argv[1]) as file:
    answers = file.read().split()
os.unlink(sys.argv[1])


def read_frame():
    header = b""
    while len(header) < 8:
        header += os.read(0, 8 - len(header))
    left = sum(struct.unpack(">II", header))
    while left:
        left -= len(os.read(0, left))


read_frame()
body = json.dumps({"op": "ready", "version": "3.11.0"}).encode()
os.write(1, struct.pack(">II", len(body), 0) + body)
while True:
    read_frame()
    answer = answers.pop(0) if len(answers) > 1 else answers[0]
    if answer == "end":
        sys.exit()
    if answer == "silent":
        time.sleep(600)
    left = bytes.fromhex(answer)
    while left:
        left = left[os.write(1, left) :]
