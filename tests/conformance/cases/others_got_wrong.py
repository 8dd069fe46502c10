"""One test for each thing that other servers of this protocol got wrong."""

import re
import time

from harness.runner import Skip, alone


def test_answering_noreply(bench):
    key = bench.key()
    with bench.connect() as wire:
        requests = b"".join(
            verb % key
            for verb in (
                b"set %s 0 0 1 noreply\r\n1\r\n",
                b"add %s 0 0 1 noreply\r\n1\r\n",
                b"replace %s 0 0 1 noreply\r\n1\r\n",
                b"append %s 0 0 1 noreply\r\n1\r\n",
                b"prepend %s 0 0 1 noreply\r\n1\r\n",
                b"cas %s 0 0 1 1 noreply\r\n1\r\n",
                b"incr %s 1 noreply\r\n",
                b"decr %s 1 noreply\r\n",
                b"incr %s x noreply\r\n",
                b"touch %s 0 noreply\r\n",
                b"delete %s noreply\r\n",
                b"delete %s noreply\r\n",
            )
        )
        for _ in range(50):
            wire.ask(requests + b"verbosity 0 noreply\r\n", b"")


def test_reordering_pipelined_answers(bench):
    keys = [bench.key() for _ in range(200)]
    with bench.connect() as wire:
        for n, key in enumerate(keys):
            wire.set(key, b"%d" % n)
        request = b"".join(b"get %s\r\ndelete none\r\nmg %s v O%d\r\n" % (k, k, n) for n, k in enumerate(keys))
        answer = b"".join(
            b"VALUE %s 0 %d\r\n%d\r\nEND\r\nNOT_FOUND\r\nVA %d O%d\r\n%d\r\n"
            % (k, len(str(n)), n, len(str(n)), n, n)
            for n, k in enumerate(keys)
        )
        wire.ask(request, answer)


def test_flags_not_replaced(bench):
    key = bench.key()
    with bench.connect() as wire:
        for flags in (1, 0, 2**32 - 1, 2**31, 65536, 0):
            wire.set(key, b"a", flags=flags)
            assert wire.value(key) == (flags, b"a")


def test_gets_without_cas(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        wire.send(b"gets %s\r\n" % key)
        assert re.fullmatch(rb"VALUE \S+ 0 1 \d+", wire.line())
        wire.expect(b"a\r\nEND\r\n")


def test_constant_cas(bench):
    key = bench.key()
    with bench.connect() as wire:
        numbers = set()
        for _ in range(20):
            wire.set(key, b"same")
            numbers.add(wire.gets(key)[2])
        assert len(numbers) == 20, numbers


def test_no_gat(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a", exptime=2)
        wire.ask(b"gat 1000 %s\r\n" % key, b"VALUE %s 0 1\r\na\r\nEND\r\n" % key)
        wire.send(b"gats 1000 %s\r\n" % key)
        assert re.fullmatch(rb"VALUE \S+ 0 1 \d+", wire.line())
        wire.expect(b"a\r\nEND\r\n")
        time.sleep(3.2)
        assert wire.value(key) == (0, b"a")


def test_more_than_8_keys_a_get(bench):
    keys = [bench.key() for _ in range(100)]
    with bench.connect() as wire:
        for key in keys:
            wire.set(key, b"a")
        for count in (8, 9, 16, 17, 24, 25, 100):
            wire.ask(
                b"get " + b" ".join(keys[:count]) + b"\r\n",
                b"".join(b"VALUE %s 0 1\r\na\r\n" % k for k in keys[:count]) + b"END\r\n",
            )


def test_first_request_above_2_kib(bench):
    with bench.connect() as wire:
        wire.ask(b"get " + b" ".join(b"none%04d" % n for n in range(1000)) + b"\r\n", b"END\r\n")
    with bench.connect() as wire:
        wire.set(bench.key(), b"x" * 5000)


def test_values_above_64_kib(bench):
    key = bench.key()
    with bench.connect() as wire:
        for length in (65_536, 65_537, 200_000, 1_000_000):
            wire.set(key, b"y" * length)
            assert wire.value(key) == (0, b"y" * length)


def test_closing_on_a_bad_request(bench):
    bad = [
        b"bogus\r\n",
        b"set\r\n",
        b"get\r\n",
        b"incr a\r\n",
        b"touch a b\r\n",
        b"set a 0 0 -1\r\n",
        b"set a 0 0 x\r\n",
        b"mg a zz\r\n",
        b"ma !!!! b\r\n",
        b"stats bogus\r\n",
        b"verbosity x\r\n",
        b"flush_all x\r\n",
        b"get " + b"k" * 251 + b"\r\n",
        b"x" * 1500 + b"\r\n",
    ]
    with bench.connect() as wire:
        for request in bad:
            wire.send(request)
            line = wire.line()
            assert re.match(rb"ERROR$|CLIENT_ERROR |SERVER_ERROR ", line), (request, line)
            wire.rest(0.02)
            wire.send(b"mn\r\n")
            assert wire.line() == b"MN", f"not usable after {request!r}"


def test_text_after_the_version_number(bench):
    with bench.connect() as wire:
        wire.send(b"version\r\n")
        assert re.fullmatch(rb"VERSION \d+\.\d+\.\d+", line := wire.line()), line


def test_stats_with_a_trailing_blank(bench):
    with bench.connect() as wire:
        wire.send(b"stats \r\n")
        assert len(wire.until(b"END")) > 20


@alone
def test_flush_all_ignored(bench):
    keys = [bench.key() for _ in range(100)]
    with bench.connect() as wire:
        for key in keys:
            wire.set(key, b"a")
        wire.ask(b"flush_all\r\n", b"OK\r\n")
        wire.ask(b"get " + b" ".join(keys) + b"\r\n", b"END\r\n")


@alone
def test_flush_all_delay_lost(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        wire.ask(b"flush_all 2\r\n", b"OK\r\n")
        assert wire.value(key) == (0, b"a"), "flushed at once"
        time.sleep(3.2)
        assert wire.value(key) is None, "never flushed"


def test_a_multi_get_that_hangs_on_one_part(bench):
    keys = [bench.key() for _ in range(64)]
    with bench.connect() as wire, bench.connect() as stuck:
        for key in keys:
            wire.set(key, b"a")
        stuck.send(b"set %s 0 0 100000\r\nhalf of it" % keys[30])
        stuck.send(b"")
        time.sleep(0.05)
        wire.ask(
            b"get " + b" ".join(keys) + b"\r\n",
            b"".join(b"VALUE %s 0 1\r\na\r\n" % k for k in keys) + b"END\r\n",
        )


def test_binary_protocol_not_hung_up_on(bench):
    if bench.is_memcached:
        raise Skip("memcached still speaks the deprecated binary protocol")
    with bench.connect() as wire:
        wire.send(b"\x80\x0b\x00\x00" + bytes(20))
        wire.expect_closed()
    with bench.connect() as wire:
        wire.send(b"\x80")
        wire.expect_closed()
