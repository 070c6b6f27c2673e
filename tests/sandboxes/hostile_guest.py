"""Stands in for a supervisor that was taken over: greets, then answers every request with the bytes it was given."""

import json
import os
import struct
import sys
import time

answer = bytes.fromhex(sys.argv[1])


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
    if not answer:
        time.sleep(600)
    os.write(1, answer)
