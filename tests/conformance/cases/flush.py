"""flush_all, at once and later. These disturb everybody, so they run alone."""

import time

from harness.runner import alone


@alone
def test_flush_all_removes_what_was_there_and_not_what_comes_after(bench):
    before, after = bench.key(), bench.key()
    with bench.connect() as wire:
        for _ in range(20):
            wire.set(before, b"a")
            wire.ask(b"flush_all\r\n", b"OK\r\n")
            wire.set(after, b"b")
            assert wire.value(before) is None, "flush_all left a value"
            assert wire.value(after) == (0, b"b"), "flush_all took a value set after it"


@alone
def test_flush_all_with_zero_and_noreply(bench):
    key = bench.key()
    with bench.connect() as wire:
        for request, answer in (
            (b"flush_all 0\r\n", b"OK\r\n"),
            (b"flush_all noreply\r\n", b""),
            (b"flush_all 0 noreply\r\n", b""),
        ):
            wire.set(key, b"a")
            wire.ask(request, answer)
            assert wire.value(key) is None, f"{request!r} left a value"


@alone
def test_flush_all_makes_a_key_absent_to_every_command(bench):
    from cases.expiry import absent_to_every_command

    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"10")
        wire.ask(b"flush_all\r\n", b"OK\r\n")
        absent_to_every_command(wire, key)


@alone
def test_flush_all_counts_and_empties_curr_items(bench):
    with bench.connect() as wire:
        for _ in range(10):
            wire.set(bench.key(), b"a")
        before = int(wire.stats()["cmd_flush"])
        wire.ask(b"flush_all\r\n", b"OK\r\n")
        stats = wire.stats()
        assert int(stats["cmd_flush"]) == before + 1, stats["cmd_flush"]


@alone
def test_flush_all_with_a_delay_waits_for_it(bench):
    early, late, after = bench.key(), bench.key(), bench.key()
    with bench.connect() as wire:
        wire.set(early, b"a")
        wire.ask(b"flush_all 2\r\n", b"OK\r\n")
        assert wire.value(early) == (0, b"a"), "flush_all 2 flushed at once"
        wire.set(late, b"b")
        assert wire.value(late) == (0, b"b")
        time.sleep(3.2)
        assert wire.value(early) is None, "the delay was lost"
        assert wire.value(late) is None, "a value set before the point in time outlived it"
        wire.set(after, b"c")
        assert wire.value(after) == (0, b"c")


@alone
def test_flush_all_at_a_point_in_time(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        wire.ask(b"flush_all %d\r\n" % (int(time.time()) + 2), b"OK\r\n")
        assert wire.value(key) == (0, b"a"), "flushed at once"
        time.sleep(3.2)
        assert wire.value(key) is None


@alone
def test_flush_all_far_in_the_future_can_be_replaced(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        wire.ask(b"flush_all 86400\r\n", b"OK\r\n")
        assert wire.value(key) == (0, b"a")
        wire.ask(b"flush_all\r\n", b"OK\r\n")
        assert wire.value(key) is None
        wire.set(key, b"b")
        time.sleep(1.2)
        assert wire.value(key) == (0, b"b")
