"""One connection that keeps a transcript, so that a failure can show the bytes it is about."""

from __future__ import annotations

import socket
import ssl
import time

PATIENCE_SECONDS = 8


class Mismatch(AssertionError):
    """The server's bytes were not the expected ones."""


def show(data, limit=600):
    """Bytes as a person can read them, the middle cut out of long ones."""
    if len(data) > limit:
        head, tail = bytes(data[: limit // 2]), bytes(data[-limit // 4 :])
        return f"{head!r} … {tail!r} ({len(data)} bytes)"
    return repr(bytes(data))


class Wire:
    """A TCP (or Unix) connection with exact reads. Every read waits `patience` seconds at most."""

    def __init__(self, address, patience=PATIENCE_SECONDS, receive_buffer=None, tls=None):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
        else:
            self.socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        self.socket.connect(address)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.buffer = bytearray()
        self.sent = bytearray()
        self.closed = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends all bytes; a peer that has hung up is noticed by the next read."""
        self.sent += data[-4096:]
        del self.sent[:-8192]
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.closed = True

    def drip(self, data):
        """Sends the bytes one by one."""
        for at in range(len(data)):
            self.send(data[at : at + 1])

    def more(self):
        """Waits for further bytes; false when the peer has closed."""
        try:
            block = self.socket.recv(1 << 18)
        except (ConnectionResetError, ssl.SSLError):
            block = b""
        except TimeoutError as late:
            raise Mismatch(
                f"no further bytes\n  sent     {show(self.sent)}\n  got      {show(self.buffer)}"
            ) from late
        self.buffer += block
        self.closed = self.closed or not block
        return bool(block)

    def exactly(self, count):
        """The next `count` bytes, fewer only when the peer closes."""
        while len(self.buffer) < count and self.more():
            pass
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def line(self):
        """The next line without its CR LF; a line that ends otherwise is a mismatch."""
        start = 0
        while (end := self.buffer.find(b"\n", start)) < 0:
            start = len(self.buffer)
            if not self.more():
                raise Mismatch(
                    f"closed inside a line\n  sent     {show(self.sent)}\n  got      {show(self.buffer)}"
                )
        taken = bytes(self.buffer[: end + 1])
        del self.buffer[: end + 1]
        if not taken.endswith(b"\r\n"):
            raise Mismatch(f"a line that ends in a bare LF: {show(taken)}")
        return taken[:-2]

    def until(self, end):
        """Lines up to the one that equals `end`, which is not among them."""
        lines = []
        while (line := self.line()) != end:
            lines.append(line)
        return lines

    def expect(self, expected, sent=None):
        """Reads as many bytes as `expected` has and compares them."""
        got = bytearray()
        try:
            got += self.exactly(len(expected))
        except Mismatch:
            got += self.buffer
            self.buffer.clear()
        if got != expected:
            got += self.rest()
            at = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), len(expected))
            raise Mismatch(
                f"differs at byte {at}\n  sent     {show(self.sent if sent is None else sent)}\n"
                f"  expected {show(expected)}\n  got      {show(got)}"
            )

    def ask(self, request, expected):
        """Sends a request and expects exactly these bytes, with a fence behind them."""
        self.send(request + b"mn\r\n")
        self.expect(expected + b"MN\r\n", request)

    def fence(self):
        """Proves that no byte is on the way: `mn` must be answered next."""
        self.send(b"mn\r\n")
        self.expect(b"MN\r\n")

    def rest(self, seconds=0.3):
        """Whatever still comes within a short time; for messages."""
        taken, patience = bytearray(self.buffer), self.socket.gettimeout()
        self.buffer.clear()
        self.socket.settimeout(seconds)
        try:
            while block := self.socket.recv(65536):
                taken += block
        except OSError:
            pass
        self.socket.settimeout(patience)
        return bytes(taken)

    def expect_closed(self):
        """The peer must hang up, with nothing said before."""
        deadline = time.monotonic() + self.socket.gettimeout()
        while time.monotonic() < deadline and self.more():
            pass
        if self.buffer:
            raise Mismatch(f"expected the connection to close, got {show(self.buffer)}")

    def value(self, key):
        """`(flags, value)` of one key by `get`, `None` when absent."""
        self.send(b"get " + key + b"\r\n")
        return self.one_value(False)

    def gets(self, key):
        """`(flags, value, cas)` of one key by `gets`, `None` when absent."""
        self.send(b"gets " + key + b"\r\n")
        return self.one_value(True)

    def one_value(self, with_cas):
        line = self.line()
        if line == b"END":
            return None
        fields = line.split(b" ")
        if fields[0] != b"VALUE" or len(fields) != (5 if with_cas else 4):
            raise Mismatch(f"expected a VALUE line, got {show(line)} after {show(self.sent)}")
        body = self.exactly(int(fields[3]) + 2)
        self.expect(b"END\r\n")
        flags = int(fields[2])
        return (flags, body[:-2], int(fields[4])) if with_cas else (flags, body[:-2])

    def set(self, key, value, flags=0, exptime=0):
        """Stores a value and expects `STORED`."""
        self.send(b"set %s %d %d %d\r\n%s\r\n" % (key, flags, exptime, len(value), value))
        self.expect(b"STORED\r\n")

    def stats(self, group=b""):
        """The names and values of `stats`, or of one of its groups."""
        self.send(b"stats" + (b" " + group if group else b"") + b"\r\n")
        pairs = {}
        for line in self.until(b"END"):
            word, name, value = (line.split(b" ", 2) + [b"", b""])[:3]
            if word != b"STAT":
                raise Mismatch(f"expected a STAT line, got {show(line)}")
            pairs[name.decode()] = value.decode()
        return pairs
