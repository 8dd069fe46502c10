"""Long lines, many keys, values of every awkward length."""

import random


def store_many(wire, pairs):
    """Stores pairs without waiting for each."""
    wire.send(b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n" % (k, len(v), v) for k, v in pairs))
    wire.fence()


def values(pairs):
    return b"".join(b"VALUE %s 0 %d\r\n%s\r\n" % (k, len(v), v) for k, v in pairs) + b"END\r\n"


def test_ten_thousand_keys_in_one_get(bench):
    prefix = bench.key()
    pairs = [(prefix + b":%d" % n, b"value of %d" % n) for n in range(10_000)]
    with bench.connect() as wire:
        store_many(wire, pairs)
        wire.ask(b"get " + b" ".join(k for k, _ in pairs) + b"\r\n", values(pairs))


def test_ten_thousand_keys_half_of_them_absent_and_out_of_order(bench):
    prefix, chance = bench.key(), random.Random(1)
    pairs = [(prefix + b":%d" % n, b"v%d" % n) for n in range(5_000)]
    absent = [(prefix + b":absent%d" % n, None) for n in range(5_000)]
    order = pairs + absent
    chance.shuffle(order)
    with bench.connect() as wire:
        store_many(wire, pairs)
        wire.ask(b"get " + b" ".join(k for k, _ in order) + b"\r\n", values([p for p in order if p[1]]))


def test_request_line_above_128_kib(bench):
    prefix = bench.key()
    keys = [prefix.ljust(245, b"k") + b"%05d" % n for n in range(1_200)]
    request = b"get " + b" ".join(keys) + b"\r\n"
    assert len(request) > 2 * 131_072
    with bench.connect() as wire:
        wire.ask(request, b"END\r\n")
        store_many(wire, [(keys[0], b"first"), (keys[-1], b"last")])
        wire.ask(request, values([(keys[0], b"first"), (keys[-1], b"last")]))


def test_gets_gat_and_gats_take_hundreds_of_keys(bench):
    prefix = bench.key()
    pairs = [(prefix + b":%d" % n, b"%d" % n) for n in range(200)]
    keys = b" ".join(k for k, _ in pairs)
    with bench.connect() as wire:
        store_many(wire, pairs)
        wire.ask(b"gat 100 " + keys + b"\r\n", values(pairs))
        for command in (b"gets ", b"gats 0 "):
            wire.send(command + keys + b"\r\n")
            seen = set()
            for key, value in pairs:
                fields = wire.line().split(b" ")
                assert fields[:4] == [b"VALUE", key, b"0", b"%d" % len(value)], fields
                seen.add(int(fields[4]))
                wire.expect(value + b"\r\n")
            wire.expect(b"END\r\n")
            assert len(seen) == 200, "two keys had the same cas number"


def test_first_request_above_2_kib(bench):
    prefix = bench.key()
    pairs = [(prefix + b":%d" % n, b"%d" % n) for n in range(400)]
    request = b"get " + b" ".join(k for k, _ in pairs) + b"\r\n"
    assert len(request) > 4096
    with bench.connect() as wire:
        wire.send(request)
        wire.expect(b"END\r\n")
        store_many(wire, pairs)
    with bench.connect() as wire:
        wire.drip(request[:3000])
        wire.send(request[3000:])
        wire.expect(values(pairs))
    with bench.connect() as wire:
        wire.set(pairs[0][0], b"x" * 3000)
    with bench.connect() as wire:
        wire.send(b"set %s 0 0 9 noreply\r\nsomething\r\n" % pairs[0][0] * 300)
        wire.fence()


def test_more_than_8_keys_a_get(bench):
    prefix = bench.key()
    pairs = [(prefix + b":%d" % n, b"%d" % n) for n in range(70)]
    with bench.connect() as wire:
        store_many(wire, pairs)
        for count in range(1, 71):
            wire.send(b"get " + b" ".join(k for k, _ in pairs[:count]) + b"\r\n")
            wire.expect(values(pairs[:count]))


def test_values_of_every_length_near_powers_of_two(bench):
    key, chance = bench.key(), random.Random(2)
    lengths = [0, 1, 2] + [2**p + d for p in range(2, 20) for d in (-2, -1, 0, 1, 2)]
    with bench.connect() as wire:
        for length in [*lengths, 1_000_000, 1_047_000]:
            body = chance.randbytes(length)
            wire.set(key, body, flags=length)
            assert wire.value(key) == (length, body), f"a value of {length} bytes came back changed"


def test_values_above_64_kib(bench):
    chance = random.Random(4)
    pairs = [(bench.key(), chance.randbytes(n)) for n in (65_535, 65_536, 65_537, 131_072, 900_000)]
    with bench.connect() as wire:
        for key, value in pairs:
            wire.set(key, value)
        wire.ask(b"get " + b" ".join(k for k, _ in pairs) + b"\r\n", values(pairs))
        for key, value in pairs:
            wire.ask(b"mg %s v s\r\n" % key, b"VA %d s%d\r\n%s\r\n" % (len(value), len(value), value))


def test_value_that_contains_its_own_end_mark(bench):
    key, body = bench.key(), b"\r\nEND\r\n\r\nSTORED\r\nVALUE x 0 1\r\n\0\xff" * 50
    with bench.connect() as wire:
        wire.set(key, body)
        assert wire.value(key) == (0, body)


def test_large_multi_set_reads_back(bench):
    prefix, chance = bench.key(), random.Random(5)
    pairs = [(prefix + b":%d" % n, chance.randbytes(chance.randrange(4096))) for n in range(3_000)]
    with bench.connect() as wire:
        store_many(wire, pairs)
        for start in range(0, 3_000, 500):
            some = pairs[start : start + 500]
            wire.ask(b"get " + b" ".join(k for k, _ in some) + b"\r\n", values(some))


def test_huge_length_takes_no_memory_and_harms_nobody(bench):
    for length in (2**30, 2**31 - 3):
        with bench.connect() as wire:
            wire.send(b"set %s 0 0 %d\r\nabc" % (bench.key(), length))
            with bench.connect() as other:
                other.fence()


def test_append_up_to_the_limit_and_no_further(bench):
    key, part = bench.key(), b"0123456789abcdef" * 4096
    with bench.connect() as wire:
        wire.set(key, part)
        length, answer = len(part), b"STORED"
        while answer == b"STORED" and length < 2**21:
            wire.send(b"append %s 0 0 %d\r\n%s\r\n" % (key, len(part), part))
            answer = wire.line()
            length += len(part) if answer == b"STORED" else 0
        assert answer in (
            b"NOT_STORED",
            b"SERVER_ERROR object too large for cache",
            b"SERVER_ERROR out of memory storing object",
        ), answer
        flags, body = wire.value(key)
        assert len(body) == length, f"{len(body)} bytes after a refused append, expected {length}"
        wire.send(b"delete " + key + b"\r\n")
        wire.expect(b"DELETED\r\n")
