"""Time: what is set to expire is gone for every command, and not before."""

import time


def absent_to_every_command(wire, key):
    """Asks every command about a key that must not be there."""
    wire.ask(b"get %s\r\ngets %s\r\ngat 0 %s\r\ngats 0 %s\r\n" % ((key,) * 4), b"END\r\n" * 4)
    wire.ask(b"touch %s 0\r\n" % key, b"NOT_FOUND\r\n")
    for verb in (b"replace", b"append", b"prepend"):
        wire.ask(b"%s %s 0 0 1\r\nx\r\n" % (verb, key), b"NOT_STORED\r\n")
    wire.ask(b"cas %s 0 0 1 1\r\nx\r\n" % key, b"NOT_FOUND\r\n")
    wire.ask(b"incr %s 1\r\ndecr %s 1\r\n" % (key, key), b"NOT_FOUND\r\n" * 2)
    wire.ask(b"delete %s\r\n" % key, b"NOT_FOUND\r\n")
    wire.ask(b"mg %s v\r\nme %s\r\n" % (key, key), b"EN\r\nEN\r\n")
    wire.ask(b"ma %s\r\nmd %s\r\n" % (key, key), b"NF\r\nNF\r\n")
    wire.ask(b"ms %s 1 MR\r\nx\r\nms %s 1 MA\r\nx\r\n" % (key, key), b"NS\r\nNS\r\n")
    wire.ask(b"add %s 0 0 1\r\nx\r\n" % key, b"STORED\r\n")


def test_expired_after_relative_seconds_for_every_command(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"10", exptime=2)
        assert wire.value(key) == (0, b"10"), "gone before its time"
        time.sleep(3.2)
        absent_to_every_command(wire, key)


def test_expired_at_a_point_in_time_for_every_command(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"10", exptime=int(time.time()) + 3)
        assert wire.value(key) == (0, b"10"), "gone before its time"
        time.sleep(4.2)
        absent_to_every_command(wire, key)


def test_expired_at_once_by_a_point_in_time_that_is_past(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"10", exptime=int(time.time()) - 10)
        absent_to_every_command(wire, key)


def test_expired_at_once_by_a_negative_time_for_every_command(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"old")
        wire.set(key, b"10", exptime=-1)
        absent_to_every_command(wire, key)


def test_incr_append_and_touch_decide_the_time_left_right(bench):
    counted, appended, touched, got, kept = (bench.key() for _ in range(5))
    with bench.connect() as wire:
        for key in (counted, appended, touched, got, kept):
            wire.set(key, b"10", exptime=2)
        wire.ask(b"incr %s 1\r\n" % counted, b"11\r\n")
        wire.ask(b"append %s 0 0 1\r\n0\r\n" % appended, b"STORED\r\n")
        wire.ask(b"touch %s 100\r\n" % touched, b"TOUCHED\r\n")
        wire.ask(b"gat 100 %s\r\n" % got, b"VALUE %s 0 2\r\n10\r\nEND\r\n" % got)
        wire.set(kept, b"10")
        time.sleep(3.2)
        assert wire.value(counted) is None, "incr made a value that never expires"
        assert wire.value(appended) is None, "append made a value that never expires"
        assert wire.value(touched) == (0, b"10"), "touch did not lengthen the time"
        assert wire.value(got) == (0, b"10"), "gat did not lengthen the time"
        assert wire.value(kept) == (0, b"10"), "a set without a time kept the old one's"


def test_time_left_counts_down(bench):
    # Of several keys, because the table of last uses forgets one whose place another key takes.
    keys = [bench.key() for _ in range(3)]
    with bench.connect() as wire:
        for key in keys:
            wire.set(key, b"a", exptime=100)
        time.sleep(2.1)
        idle = []
        for key in keys:
            wire.send(b"mg %s t l h\r\n" % key)
            fields = wire.line().split(b" ")
            assert fields[0] == b"HD" and fields[1] in (b"t98", b"t97", b"t96"), fields
            assert fields[3] == b"h0", fields
            idle.append(fields[2])
        assert any(seconds in (b"l1", b"l2", b"l3") for seconds in idle), idle


def test_touched_to_expire_is_gone(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        wire.ask(b"touch %s 1\r\n" % key, b"TOUCHED\r\n")
        time.sleep(2.2)
        assert wire.value(key) is None
