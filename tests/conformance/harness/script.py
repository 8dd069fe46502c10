"""Golden conversations: text files that say what is sent and what comes back.

    == flags are replaced by every set
    > set $k 7 0 1
    > a
    < STORED
    > get $k
    < VALUE $k 7 1
    < a
    < END

`== NAME` starts a conversation on a new connection; `[step]` after the name keeps it out of the
pipelined and byte-by-byte runs, `[step on memcached]` does so where memcached itself cannot do it. `>` sends a line, CR LF added; `>\\` sends the rest of the line with
`\\r \\n \\t \\0 \\xNN` replaced and nothing added. `<` expects a line; `<!` expects the connection to
close. `<FLAVOUR` lines replace the `<` block before them when the server is that memcached:
`<memcached`, `<1.6.18`, `<1.6.45`; a lone `-` stands for no line. `#` is a comment.

Inside a line: `$name` a key of this conversation alone; `{x*250}` a repeated byte; and, in expected
lines, `{n}` a number, `{*}` any text, `{a|b}` one of these, `{name=n}` a number that is kept and
that `{name}` puts in later lines, sent or expected.

A conversation passes when each block of answers is the expected one and nothing follows it.
"""

from __future__ import annotations

import itertools
import os
import re
import uuid
from dataclasses import dataclass, field

from .wire import Mismatch, Wire, show

PIPELINED_BYTES = 3_000_000
DRIPPED_BYTES = 1500
HOLE = re.compile(r"\{([^{}]+)\}")
RUN = uuid.uuid4().hex[:6]
COUNTER = itertools.count()


@dataclass
class Exchange:
    """What is sent at once, and the answers by flavour."""

    sent: list = field(default_factory=list)
    expected: list = field(default_factory=list)
    others: dict = field(default_factory=dict)

    def answers(self, flavour):
        for name in (flavour, "memcached" if flavour != "target" else None):
            if name in self.others:
                return self.others[name]
        return self.expected


@dataclass
class Conversation:
    """One named conversation of a script file."""

    name: str
    where: str
    step_only: str = ""
    exchanges: list = field(default_factory=list)


def load(folder):
    """All conversations of the `.txt` files of a folder."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".txt"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found += parse(file.read(), name)
    return found


def parse(text, file):
    """The conversations of one file's text."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{file}:{number}"
        if line.startswith("== "):
            name, _, tag = line[3:].partition("[")
            found.append(Conversation(name.strip(), where, tag.rstrip("]")))
        elif line.startswith(">"):
            exchanges = found[-1].exchanges
            if not exchanges or exchanges[-1].expected or exchanges[-1].others:
                exchanges.append(Exchange())
            exchanges[-1].sent.append(line[1:])
        elif line.startswith("<"):
            expectation(found[-1].exchanges[-1], line[1:], where)
        elif line and not line.startswith("#"):
            raise ValueError(f"{where}: neither `==`, `>`, `<` nor `#`: {line}")
    return found


def expectation(exchange, line, where):
    if line == "!":
        exchange.expected.append(None)
    elif line.startswith(" ") or not line:
        exchange.expected.append(line[1:])
    else:
        flavour, _, rest = line.partition(" ")
        if not re.fullmatch(r"memcached|1\.6\.\d+", flavour):
            raise ValueError(f"{where}: unknown flavour {flavour}")
        lines = exchange.others.setdefault(flavour, [])
        if rest != "-":
            lines.append(None if rest == "!" else rest)


class Actor:
    """Plays one conversation; keeps what it has captured."""

    def __init__(self, flavour):
        self.flavour = flavour
        self.suffix = f"-{RUN}-{next(COUNTER)}"
        self.kept = {}

    def keys(self, text):
        return re.sub(r"\$([a-z]+[0-9]*)", lambda m: m[1] + self.suffix, text)

    def bytes_of(self, line):
        """A `>` line as the bytes to send."""
        escaped = line.startswith("\\")
        text = self.keys(line[2:] if escaped else line[1:])
        text = HOLE.sub(self.fill, text)
        if escaped:
            return re.sub(r"\\(r|n|t|0|x[0-9a-f]{2})", unescape, text).encode("latin-1")
        return text.encode("latin-1") + b"\r\n"

    def fill(self, hole):
        text, star, count = hole[1].rpartition("*")
        if star and count.isdigit():
            return text * int(count)
        if hole[1] not in self.kept:
            raise KeyError(f"{hole[0]} was not captured before it was sent")
        return self.kept[hole[1]]

    def pattern_of(self, line):
        """A `<` line as a pattern over the bytes without CR LF."""
        text, pattern, at = self.keys(line), "", 0
        for hole in HOLE.finditer(text):
            pattern += re.escape(text[at : hole.start()]) + self.pattern_hole(hole)
            at = hole.end()
        pattern += re.escape(text[at:])
        return re.compile(pattern.encode("latin-1"))

    def pattern_hole(self, hole):
        inner = hole[1]
        if inner == "n":
            return "[0-9]+"
        if inner == "*":
            return "[^\r\n]*"
        if inner.endswith("=n"):
            return f"(?P<{inner[:-2]}>[0-9]+)"
        if "|" in inner:
            return "(?:" + "|".join(re.escape(part) for part in inner.split("|")) + ")"
        return re.escape(self.fill(hole))

    def read(self, wire, expected, sent):
        """Reads one block of answers."""
        for line in expected:
            if line is None:
                wire.expect_closed()
                continue
            pattern = self.pattern_of(line)
            try:
                got = wire.line()
            except Mismatch as none:
                raise Mismatch(f"expected {line!r} after {show(sent)}\n  but {none}") from none
            found = pattern.fullmatch(got)
            if not found:
                rest = b"".join([got, b"\r\n", wire.rest()])
                raise Mismatch(
                    f"  sent     {show(sent)}\n  expected {self.keys(line)!r}\n  got      {show(rest)}"
                )
            self.kept |= {name: value.decode() for name, value in found.groupdict().items()}

    def finish(self, wire, last):
        if not last or last[-1] is not None:
            wire.fence()


def unescape(found):
    return {"r": "\r", "n": "\n", "t": "\t", "0": "\0"}.get(found[1]) or chr(int(found[1][1:], 16))


def play(address, flavour, conversation):
    """Plays a conversation step by step, then in one write, then a byte at a time."""
    actor = Actor(flavour)
    with Wire(address) as wire:
        for exchange in conversation.exchanges:
            sent = b"".join(actor.bytes_of(line) for line in exchange.sent)
            wire.send(sent)
            actor.read(wire, exchange.answers(flavour), sent)
        actor.finish(wire, conversation.exchanges[-1].answers(flavour))
    if conversation.step_only == "step" or (conversation.step_only and flavour != "target"):
        return
    for way in ("in one write", "byte by byte"):
        try:
            play_at_once(address, flavour, conversation, drip=way == "byte by byte")
        except Mismatch as wrong:
            raise Mismatch(f"when sent {way}:\n{wrong}") from wrong


def play_at_once(address, flavour, conversation, drip):
    """Sends the whole conversation before it reads; captures cannot be used in what is sent."""
    actor = Actor(flavour)
    try:
        sent = b"".join(actor.bytes_of(l) for e in conversation.exchanges for l in e.sent)
    except KeyError:
        return
    if len(sent) > (DRIPPED_BYTES if drip else PIPELINED_BYTES):
        return
    expected = [line for e in conversation.exchanges for line in e.answers(flavour)]
    with Wire(address) as wire:
        (wire.drip if drip else wire.send)(sent)
        actor.read(wire, expected, sent)
        actor.finish(wire, expected)
