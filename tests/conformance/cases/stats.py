"""stats: the usual names, that they move, the groups; and the list of keys."""

import re
import time
import urllib.parse

from harness.runner import alone

USUAL = """pid uptime time version curr_items total_items bytes curr_connections total_connections
cmd_get cmd_set cmd_flush cmd_touch get_hits get_misses delete_hits delete_misses incr_hits
incr_misses decr_hits decr_misses cas_hits cas_misses cas_badval touch_hits touch_misses bytes_read
bytes_written limit_maxbytes threads evictions""".split()


@alone
def test_stats_has_the_usual_names_with_numbers(bench):
    with bench.connect() as wire:
        stats = wire.stats()
    missing = [name for name in USUAL if name not in stats]
    assert not missing, f"missing: {missing}"
    for name in USUAL:
        if name != "version":
            assert re.fullmatch(r"\d+", stats[name]), f"{name} is {stats[name]!r}"
    assert abs(int(stats["time"]) - time.time()) < 5, stats["time"]


@alone
def test_stats_move_with_what_is_done(bench):
    here, none = bench.key(), bench.key()
    steps = [
        (b"set %s 0 0 2\r\n10\r\n", {"cmd_set": 1, "total_items": 1, "curr_items": 1}),
        (b"get %s\r\n", {"cmd_get": 1, "get_hits": 1}),
        (b"get %s %s\r\n", {"cmd_get": 2, "get_hits": 2}),
        (b"incr %s 1\r\n", {"incr_hits": 1}),
        (b"decr %s 1\r\n", {"decr_hits": 1}),
        (b"touch %s 0\r\n", {"cmd_touch": 1, "touch_hits": 1}),
        (b"cas %s 0 0 1 1\r\nx\r\n", {"cas_badval": 1}),
        (b"delete %s\r\n", {"delete_hits": 1, "curr_items": -1}),
        (b"get %s\r\n", {"cmd_get": 1, "get_misses": 1}),
        (b"incr %s 1\r\n", {"incr_misses": 1}),
        (b"decr %s 1\r\n", {"decr_misses": 1}),
        (b"touch %s 0\r\n", {"cmd_touch": 1, "touch_misses": 1}),
        (b"cas %s 0 0 1 1\r\nx\r\n", {"cas_misses": 1}),
        (b"delete %s\r\n", {"delete_misses": 1}),
    ]
    with bench.connect() as wire:
        for request, moves in steps:
            before = wire.stats()
            wire.send(request.replace(b"%s", here) + b"mn\r\n")
            wire.until(b"MN")
            after = wire.stats()
            for name, by in moves.items():
                got = int(after[name]) - int(before[name])
                assert got == by, f"{name} moved by {got}, not {by}, after {request!r}"
            assert int(after["bytes_read"]) > int(before["bytes_read"])
            assert int(after["bytes_written"]) > int(before["bytes_written"])
        assert wire.value(none) is None


@alone
def test_stats_count_a_cas_hit(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        before, unique = int(wire.stats()["cas_hits"]), wire.gets(key)[2]
        wire.ask(b"cas %s 0 0 1 %d\r\nb\r\n" % (key, unique), b"STORED\r\n")
        assert int(wire.stats()["cas_hits"]) == before + 1


def settled(wire):
    """The statistics once the connections of earlier tests are gone."""
    before = wire.stats()
    for _ in range(50):
        time.sleep(0.1)
        now = wire.stats()
        if now["curr_connections"] == before["curr_connections"]:
            return now
        before = now
    raise AssertionError("the number of connections does not settle")


@alone
def test_stats_count_connections(bench):
    with bench.connect() as wire:
        before = settled(wire)
        others = [bench.connect() for _ in range(10)]
        for other in others:
            other.fence()
        during = wire.stats()
        assert int(during["curr_connections"]) == int(before["curr_connections"]) + 10
        assert int(during["total_connections"]) >= int(before["total_connections"]) + 10
        for other in others:
            other.socket.close()
        deadline = time.monotonic() + 5
        while wire.stats()["curr_connections"] != before["curr_connections"]:
            assert time.monotonic() < deadline, "closed connections are still counted"
            time.sleep(0.05)


@alone
def test_stats_bytes_follow_the_values(bench):
    key = bench.key()
    with bench.connect() as wire:
        before = int(wire.stats()["bytes"])
        wire.set(key, b"x" * 500_000)
        assert int(wire.stats()["bytes"]) >= before + 500_000
        wire.send(b"delete %s\r\n" % key)
        wire.expect(b"DELETED\r\n")


def test_stats_with_a_trailing_blank_is_stats(bench):
    with bench.connect() as wire:
        wire.send(b"stats \r\n")
        names = {line.split(b" ")[1] for line in wire.until(b"END")}
        assert {b"pid", b"uptime", b"curr_items"} <= names, sorted(names)
        wire.fence()


def test_stats_groups_answer_in_stat_lines(bench):
    with bench.connect() as wire:
        wire.set(bench.key(), b"a")
        for group in (b"settings", b"items", b"slabs", b"sizes", b"conns"):
            stats = wire.stats(group)
            assert stats or group in (b"sizes",), f"stats {group.decode()} says nothing"
            wire.fence()
        settings = wire.stats(b"settings")
        for name in ("maxbytes", "maxconns", "tcpport", "item_size_max", "cas_enabled", "flush_enabled"):
            assert name in settings, f"stats settings lacks {name}"


def test_stats_conns_shows_this_connection(bench):
    with bench.connect() as wire:
        port = wire.socket.getsockname()[1]
        assert any(value.endswith(f":{port}") for value in wire.stats(b"conns").values())


@alone
def test_stats_reset_starts_the_counts_again(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        wire.value(key)
        assert int(wire.stats()["cmd_set"]) > 0
        wire.ask(b"stats reset\r\n", b"RESET\r\n")
        stats = wire.stats()
        for name in ("cmd_get", "cmd_set", "get_hits", "total_items", "total_connections"):
            assert stats[name] == "0", f"{name} is {stats[name]} after a reset"
        assert wire.value(key) == (0, b"a"), "stats reset took a value"


LISTED = re.compile(
    rb"key=(\S+) exp=(-1|\d+) la=(\d+) cas=(\d+) fetch=(yes|no) cls=(\d+) size=(\d+)(?: flags=\d+)? ?"
)


def metadump(wire):
    """The keys that `lru_crawler metadump all` lists, with their fields."""
    wire.send(b"lru_crawler metadump all\r\n")
    items, line = {}, b""
    while line != b"END":
        wire_line = bare_line(wire)
        line = wire_line.rstrip(b"\r\n")
        if line in (b"OK", b"END"):
            continue
        found = LISTED.fullmatch(line)
        assert found, f"not a metadump line: {line!r}"
        items[urllib.parse.unquote_to_bytes(found[1])] = found
    return items


def bare_line(wire):
    """A line that ends in LF; metadump's have no CR."""
    while (end := wire.buffer.find(b"\n")) < 0:
        assert wire.more(), "closed inside a metadump"
    taken = bytes(wire.buffer[: end + 1])
    del wire.buffer[: end + 1]
    return taken


def dump_when_free(bench, wire):
    """memcached crawls for one client at a time and says so."""
    for _ in range(50):
        wire.send(b"mn\r\n")
        wire.expect(b"MN\r\n")
        try:
            return metadump(wire)
        except AssertionError as busy:
            if "BUSY" not in str(busy):
                raise
            time.sleep(0.1)
    raise AssertionError("the crawler stayed busy")


@alone
def test_metadump_lists_every_key_and_no_dead_one(bench):
    prefix = bench.key("dump")
    live = {prefix + b":%d" % n for n in range(3_000)}
    strange = prefix + b":%+&=\xc3\xa9"
    with bench.connect(patience=20) as wire:
        for key in sorted(live):
            wire.send(b"set %s 0 0 1 noreply\r\na\r\n" % key)
        wire.set(strange, b"a")
        wire.set(prefix + b":timed", b"abc", exptime=1000)
        wire.set(prefix + b":gone", b"a", exptime=-1)
        wire.set(prefix + b":deleted", b"a")
        wire.send(b"delete %s:deleted\r\n" % prefix)
        wire.expect(b"DELETED\r\n")
        listed = dump_when_free(bench, wire)
        wire.fence()
        timed = listed[prefix + b":timed"]
        unique = wire.gets(prefix + b":timed")[2]
    mine = {key for key in listed if key.startswith(prefix)}
    expected = live | {strange, prefix + b":timed"}
    assert mine == expected, f"missing {sorted(expected - mine)[:3]}, too many {sorted(mine - expected)[:3]}"
    assert abs(int(timed[2]) - (time.time() + 1000)) < 10, timed[0]
    assert int(timed[4]) == unique, timed[0]
    assert listed[strange][2] == b"-1", "a value without a time lists an expiry"


@alone
def test_metadump_stops_nobody(bench):
    prefix = bench.key("many")
    with bench.connect(receive_buffer=8192, patience=30) as slow, bench.connect() as other:
        slow.send(b"".join(b"set %s:%d 0 0 1 noreply\r\na\r\n" % (prefix, n) for n in range(30_000)))
        slow.fence()
        slow.send(b"lru_crawler metadump all\r\n")
        longest = 0.0
        for n in range(300):
            started = time.monotonic()
            other.set(prefix + b":%d" % n, b"b")
            assert other.value(prefix + b":%d" % n) == (0, b"b")
            longest = max(longest, time.monotonic() - started)
        assert longest < 1.0, f"a set and get took {longest:.2f} s while keys were listed"
        count, line = 0, b""
        while line != b"END":
            line = bare_line(slow).rstrip(b"\r\n")
            count += line.startswith(b"key=" + prefix)
        assert count >= 29_000, f"only {count} of 30000 keys were listed"


@alone
def test_metadump_of_an_empty_server_ends(bench):
    with bench.connect() as wire:
        wire.ask(b"flush_all\r\n", b"OK\r\n")
        assert dump_when_free(bench, wire) == {}
