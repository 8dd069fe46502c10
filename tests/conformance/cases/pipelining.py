"""Input split anywhere, many requests at once, answers in the order of the requests."""

import random
import threading
import time

from harness.wire import Mismatch, show

# Each line is one request and its answer; `K` is replaced by a key of the run.
MIXED = [
    (b"set K 5 0 6 noreply\r\nab\r\ncd\r\n", b""),
    (b"get K\r\n", b"VALUE K 5 6\r\nab\r\ncd\r\nEND\r\n"),
    (b"set K 1 0 2\r\n41\r\n", b"STORED\r\n"),
    (b"incr K 1\r\n", b"42\r\n"),
    (b"add K 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"append K 0 0 1\r\n0\r\n", b"STORED\r\n"),
    (b"prepend K 0 0 1\r\n1\r\n", b"STORED\r\n"),
    (b"get K K\r\n", b"VALUE K 1 4\r\n1420\r\nVALUE K 1 4\r\n1420\r\nEND\r\n"),
    (b"decr K 20 noreply\r\n", b""),
    (b"touch K 0\r\n", b"TOUCHED\r\n"),
    (b"gat 0 K\r\n", b"VALUE K 1 4\r\n1400\r\nEND\r\n"),
    (b"bogus\r\n", b"ERROR\r\n"),
    (b"cas K 0 0 1 1\r\nz\r\n", b"EXISTS\r\n"),
    (b"ms K 2 T0 k Oq\r\nhi\r\n", b"HD kK Oq\r\n"),
    (b"mg K v k s\r\n", b"VA 2 kK s2\r\nhi\r\n"),
    (b"mg Z v q\r\n", b""),
    (b"md K q\r\n", b""),
    (b"ma K N0 J9 v\r\n", b"VA 1\r\n9\r\n"),
    (b"delete K noreply\r\n", b""),
    (b"delete K\r\n", b"NOT_FOUND\r\n"),
    (b"get K Z\n", b"END\r\n"),
    (b"mn\r\n", b"MN\r\n"),
]


def mixed(key):
    """The mixed requests and their answers for one key, as two byte strings."""
    absent = key + b"z"
    place = lambda data: data.replace(b"Z", absent).replace(b"K", key)
    return tuple(place(b"".join(part)) for part in zip(*MIXED))


def test_pipeline_split_in_two_at_every_byte(bench):
    request, answer = mixed(bench.key())
    with bench.connect() as wire:
        for at in range(1, len(request)):
            wire.send(request[:at])
            time.sleep(0.0004)
            wire.send(request[at:])
            wire.expect(answer, request[:at] + b" | " + request[at:])


def test_pipeline_split_into_single_bytes(bench):
    request, answer = mixed(bench.key())
    with bench.connect() as wire:
        for _ in range(5):
            wire.drip(request)
            wire.expect(answer)


def test_pipeline_split_in_three_at_random(bench):
    request, answer = mixed(bench.key())
    chance = random.Random(7)
    with bench.connect() as wire:
        for _ in range(300):
            low, high = sorted(chance.sample(range(1, len(request)), 2))
            for part in (request[:low], request[low:high], request[high:]):
                wire.send(part)
                time.sleep(0.0002)
            wire.expect(answer)


def test_hundred_pipelines_in_one_write(bench):
    request, answer = mixed(bench.key())
    with bench.connect() as wire:
        wire.send(request * 100)
        wire.expect(answer * 100)


def test_twenty_thousand_gets_in_flight(bench):
    key, count = bench.key(), 20_000
    with bench.connect(patience=20) as wire:
        wire.set(key, b"v" * 20)
        request, answer = b"get " + key + b"\r\n", b"VALUE %s 0 20\r\n%s\r\nEND\r\n" % (key, b"v" * 20)
        sender = threading.Thread(target=wire.send, args=(request * count,))
        sender.start()
        wire.expect(answer * count)
        sender.join()


class Model:
    """What one client may expect of keys that nobody else touches; all values are digits."""

    def __init__(self):
        self.items = {}

    def storage(self, verb, key, flags, value):
        old = self.items.get(key)
        if (verb == b"add" and old) or (verb in (b"replace", b"append", b"prepend") and not old):
            return b"NOT_STORED\r\n"
        if verb == b"append":
            self.items[key] = (old[0], old[1] + value)
        elif verb == b"prepend":
            self.items[key] = (old[0], value + old[1])
        else:
            self.items[key] = (flags, value)
        return b"STORED\r\n"

    def get(self, keys):
        found = [(key, *self.items[key]) for key in keys if key in self.items]
        return b"".join(b"VALUE %s %d %d\r\n%s\r\n" % (k, f, len(v), v) for k, f, v in found) + b"END\r\n"

    def delete(self, key):
        return b"DELETED\r\n" if self.items.pop(key, None) else b"NOT_FOUND\r\n"

    def incr(self, key, delta):
        flags, value = self.items.get(key, (0, None))
        if value is None:
            return b"NOT_FOUND\r\n"
        if int(value) >= 2**64:
            return b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
        text = b"%d" % (int(value) + delta)
        self.items[key] = (flags, text)
        return text + b"\r\n"


def one_request(chance, model, keys):
    """A random request and its answer."""
    key, value = chance.choice(keys), b"%d" % chance.randrange(1, 10**6)
    verb = chance.choice([b"set", b"set", b"get", b"get", b"add", b"replace", b"append", b"prepend", b"delete", b"incr", b"mg"])
    quiet = chance.random() < 0.3
    tail = b" noreply\r\n" if quiet else b"\r\n"
    if verb == b"get":
        some = chance.choices(keys, k=chance.randrange(1, 12))
        return b"get " + b" ".join(some) + b"\r\n", model.get(some)
    if verb == b"mg":
        flags, body = model.items.get(key, (0, None))
        answer = b"EN\r\n" if body is None else b"VA %d f%d\r\n%s\r\n" % (len(body), flags, body)
        return b"mg %s f v\r\n" % key, answer
    if verb == b"delete":
        answer, request = model.delete(key), b"delete " + key + tail
    elif verb == b"incr":
        answer, request = model.incr(key, 7), b"incr %s 7" % key + tail
    else:
        flags = chance.randrange(2**32)
        answer = model.storage(verb, key, flags, value)
        request = b"%s %s %d 0 %d" % (verb, key, flags, len(value)) + tail + value + b"\r\n"
    return request, b"" if quiet else answer


def test_random_requests_answer_in_order_as_a_model_says(bench):
    for seed in range(4):
        chance, model = random.Random(seed), Model()
        keys = [bench.key(f"r{n}") for n in range(40)]
        with bench.connect() as wire:
            for _ in range(12):
                pairs = [one_request(chance, model, keys) for _ in range(400)]
                wire.send(b"".join(request for request, _ in pairs))
                for at, (request, answer) in enumerate(pairs):
                    try:
                        wire.expect(answer, request)
                    except Mismatch as wrong:
                        raise Mismatch(f"seed {seed}, request {at}:\n{wrong}") from wrong


def test_noreply_before_a_get_of_the_same_key_is_seen_by_it(bench):
    keys = [bench.key(f"n{n}") for n in range(50)]
    with bench.connect() as wire:
        for round_ in range(40):
            value = b"%d" % round_
            sets = b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n" % (k, len(value), value) for k in keys)
            wire.send(sets + b"get " + b" ".join(keys) + b"\r\n")
            wire.expect(b"".join(b"VALUE %s 0 %d\r\n%s\r\n" % (k, len(value), value) for k in keys) + b"END\r\n")


def test_slow_reader_gets_every_byte_and_delays_nobody(bench):
    key, body = bench.key(), random.Random(3).randbytes(500_000)
    answer = b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(body), body)
    with bench.connect(receive_buffer=8192) as slow, bench.connect() as other:
        slow.set(key, body)
        slow.send(b"get %s\r\n" % key * 60)
        longest = 0.0
        for _ in range(200):
            started = time.monotonic()
            other.ask(b"get nothing-here\r\n", b"END\r\n")
            longest = max(longest, time.monotonic() - started)
            time.sleep(0.002)
        assert longest < 1.0, f"another connection waited {longest:.2f} s behind a slow reader"
        for _ in range(60):
            slow.expect(answer)


def test_slow_reader_that_goes_away_harms_nobody(bench):
    key = bench.key()
    for _ in range(5):
        with bench.connect(receive_buffer=8192) as slow:
            slow.set(key, b"x" * 500_000)
            slow.send(b"get %s\r\n" % key * 50)
    with bench.connect() as wire:
        assert wire.value(key) == (0, b"x" * 500_000)


def test_unfinished_set_stores_nothing_when_its_client_goes(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.send(b"set %s 0 0 100\r\nhalf" % key)
    time.sleep(0.05)
    with bench.connect() as wire:
        assert wire.value(key) is None


def test_answers_reach_a_client_that_has_stopped_sending(bench):
    import socket

    key = bench.key()
    with bench.connect() as wire:
        wire.send(b"set %s 0 0 1\r\na\r\nget %s\r\nversion\r\n" % (key, key))
        wire.socket.shutdown(socket.SHUT_WR)
        wire.expect(b"STORED\r\nVALUE %s 0 1\r\na\r\nEND\r\nVERSION " % key)
        wire.line()
        wire.expect_closed()


def test_five_hundred_connections_each_get_their_own_answers(bench):
    wires = [bench.connect() for _ in range(500)]
    keys = [bench.key() for _ in wires]
    try:
        for wire, key in zip(wires, keys):
            wire.send(b"set %s 3 0 %d\r\n%s\r\nget %s\r\n" % (key, len(key), key, key))
        for wire, key in zip(wires, keys):
            wire.expect(b"STORED\r\nVALUE %s 3 %d\r\n%s\r\nEND\r\n" % (key, len(key), key))
    finally:
        for wire in wires:
            wire.socket.close()


def test_bytes_without_a_line_end_are_not_kept_for_ever(bench):
    with bench.connect(patience=5) as wire:
        for _ in range(64):
            if wire.closed:
                break
            wire.send(b"x" * 65536)
        assert wire.closed or not wire.more(), "still open after 4 MiB without a line end: " + show(wire.buffer)
