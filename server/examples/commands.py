"""Locks and sells seats over the command socket, in its binary layout, with the standard library.

    FRONTROW_KEY=... python3 commands.py http://127.0.0.1:8080 EVENT_ID SEAT_ID SEAT_ID ...
"""

import base64
import os
import secrets
import socket
import struct
import sys
import uuid
from urllib.parse import urlsplit

PROTOCOL = "frontrow.commands.v1+binary"
CALLS = ["lock", "unlock", "sale", "revertsale", "directsale", "block", "unblock"]
KINDS = ["event", "session", "hold type"]
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocket:
    """As much of RFC 6455 as a client of a server that sends whole messages needs."""

    def __init__(self, url, path, headers):
        self.socket = socket.create_connection((url.hostname, url.port or 80))
        self.file = self.socket.makefile("rb")
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {url.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            *[f"{name}: {value}" for name, value in headers.items()],
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        status = self.file.readline().decode().strip()
        if " 101 " not in status + " ":
            raise ConnectionError(status)
        while self.file.readline().strip():
            pass

    def send(self, payload, opcode=BINARY):
        size = len(payload)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0x80 | 126, size)
        mask = secrets.token_bytes(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def receive(self):
        while True:
            first, size = self.file.read(2)
            if size == 126:
                (size,) = struct.unpack(">H", self.file.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.file.read(8))
            payload = self.file.read(size)
            opcode = first & 0x0F
            if opcode == PING:
                self.send(payload, PONG)
            elif opcode == CLOSE:
                raise ConnectionError(f"closed with {struct.unpack('>H', payload[:2])[0]}")
            else:
                return payload


def padded(entry):
    return entry + bytes(-len(entry) % 4)


def open_handle(kind, handle, content):
    return padded(struct.pack("<HHB3x", handle, len(content), 128 + KINDS.index(kind)) + content)


def command(number, call, event, session, seats, key=b""):
    head = struct.pack(
        "<IBBHHBBHH", number, CALLS.index(call) + 1, 0, event, session, 0, len(key), len(seats), 0
    )
    return padded(head + struct.pack(f"<{len(seats)}I", *seats) + key)


def answers(message):
    at = 0
    while at < len(message):
        number, status, result = struct.unpack_from("<IHH", message, at)
        at += 8
        errors = []
        if status >= 400:
            _retry_seconds, count = struct.unpack_from("<HH", message, at)
            errors = [struct.unpack_from("<BBH", message, at + 4 + 4 * i) for i in range(count)]
            at += 4 + 4 * count
        yield number, status, result, errors


def main(address, event_id, *seat_ids):
    url = urlsplit(address)
    headers = {"X-API-Key": os.environ["FRONTROW_KEY"], "Sec-WebSocket-Protocol": PROTOCOL}
    connection = WebSocket(url, "/api/private/v2.0/booking/socket", headers)
    print(connection.receive().decode())
    seats = [int(seat) for seat in seat_ids]
    order = uuid.uuid4().hex.encode()
    connection.send(
        open_handle("event", 1, uuid.UUID(event_id).bytes)
        + open_handle("session", 1, order)
        + command(1, "lock", 1, 1, seats, key=order)
        + command(2, "lock", 1, 1, seats)
        + command(3, "sale", 1, 1, seats)
    )
    for number, status, result, errors in answers(connection.receive()):
        print(number, status, result, errors)


main(*sys.argv[1:])
