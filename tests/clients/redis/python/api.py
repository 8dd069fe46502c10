"""redis-py and valkey-py, which share an interface: all their commands on strings, keys and hashes.

    api.py redis-py|valkey-py api|session|restart HOST PORT
"""

import importlib
import os
import sys
import threading
import time
import traceback
import uuid

CLIENT, MODE, HOST, PORT = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
library = importlib.import_module({"redis-py": "redis", "valkey-py": "valkey"}[CLIENT])
Client = {"redis-py": "Redis", "valkey-py": "Valkey"}[CLIENT]
ResponseError = library.exceptions.ResponseError

WRONG_TYPE = "Operation against a key holding the wrong kind of value"
BINARY = bytes(range(256))
LARGE = os.urandom(1024 * 1024 - 512)
CHECKS = {"api": [], "session": [], "restart": []}


def connect(**options):
    """A client with its defaults, but for what the server asks of all its clients."""
    if os.environ.get("CA_FILE"):
        options = {"ssl": True, "ssl_ca_certs": os.environ["CA_FILE"], **options}
    if os.environ.get("PASSWORD"):
        options = {"password": os.environ["PASSWORD"], **options}
    if os.environ.get("USERNAME"):
        options = {"username": os.environ["USERNAME"], **options}
    return getattr(library, Client)(host=HOST, port=PORT, **options)


def check(command, mode="api"):
    """Registers a check of a command; the function's name is its sentence."""

    def register(function):
        CHECKS[mode].append((command, function))
        return function

    return register


def key(name="k"):
    """A key that no other check uses."""
    return f"py:{uuid.uuid4().hex}:{name}"


def equal(got, expected):
    """Fails with both values shown, long ones cut."""
    if got != expected:
        raise AssertionError(f"expected {str(repr(expected))[:200]}, got {str(repr(got))[:200]}")


def near(got, expected):
    """A time to live that began a moment ago."""
    if not expected - 2 <= got <= expected:
        raise AssertionError(f"expected about {expected}, got {got!r}")


def refused(text, action, *args, **options):
    """The server must refuse it, with this in its words."""
    try:
        got = action(*args, **options)
    except library.exceptions.RedisError if CLIENT == "redis-py" else library.exceptions.ValkeyError as error:
        if text not in str(error):
            raise AssertionError(f"expected an error with `{text}`, got `{error}`") from error
        return
    raise AssertionError(f"expected an error with `{text}`, got {got!r}")


@check("SET")
def stores_and_replaces(c):
    k = key()
    equal(c.get(k), None)
    equal(c.set(k, "a"), True)
    equal(c.set(k, b"b"), True)
    equal(c.get(k), b"b")


@check("SET")
def nx_stores_only_what_is_absent(c):
    k = key()
    equal(c.set(k, "a", nx=True), True)
    equal(c.set(k, "b", nx=True), None)
    equal(c.get(k), b"a")


@check("SET")
def xx_stores_only_what_is_present(c):
    k = key()
    equal(c.set(k, "a", xx=True), None)
    equal(c.get(k), None)
    c.set(k, "a")
    equal(c.set(k, "b", xx=True), True)
    equal(c.get(k), b"b")


@check("SET")
def ex_px_exat_and_pxat(c):
    k, now = key(), int(time.time())
    c.set(k, "a", ex=100)
    near(c.ttl(k), 100)
    c.set(k, "a", px=200_000)
    near(c.ttl(k), 200)
    c.set(k, "a", exat=now + 300)
    equal(c.expiretime(k), now + 300)
    c.set(k, "a", pxat=(now + 400) * 1000)
    equal(c.expiretime(k), now + 400)
    c.set(k, "a")
    equal(c.ttl(k), -1)


@check("SET")
def keepttl_keeps_the_expiry(c):
    k = key()
    c.set(k, "a", ex=100)
    equal(c.set(k, "b", keepttl=True), True)
    near(c.ttl(k), 100)
    equal(c.get(k), b"b")


@check("SET")
def get_returns_the_old_value(c):
    k = key()
    equal(c.set(k, "a", get=True), None)
    equal(c.set(k, "b", get=True), b"a")
    equal(c.set(k, "c", get=True, nx=True), b"b")
    equal(c.get(k), b"b")


@check("SET")
def expires(c):
    k, kept = key(), key()
    c.set(k, "a", ex=1)
    c.set(kept, "a", ex=100)
    equal(c.get(k), b"a")
    time.sleep(2.2)
    equal(c.get(k), None)
    equal(c.exists(k, kept), 1)


@check("SET")
def refuses_bad_options(c):
    k = key()
    refused("invalid expire time in 'set' command", c.execute_command, "SET", k, "a", "EX", "0")
    refused("syntax error", c.execute_command, "SET", k, "a", "NX", "XX")
    refused("not an integer", c.execute_command, "SET", k, "a", "EX", "x")


@check("SETNX")
def stores_only_what_is_absent(c):
    k = key()
    equal(c.setnx(k, "a"), True)
    equal(c.setnx(k, "b"), False)
    equal(c.get(k), b"a")


@check("SETEX")
def stores_with_an_expiry(c):
    k = key()
    equal(c.setex(k, 100, "a"), True)
    near(c.ttl(k), 100)


@check("PSETEX")
def stores_with_an_expiry_in_milliseconds(c):
    k = key()
    equal(c.psetex(k, 100_000, "a"), True)
    near(c.ttl(k), 100)


@check("GETEX")
def reads_and_changes_the_expiry(c):
    k = key()
    equal(c.getex(k, ex=10), None)
    c.set(k, "a")
    equal(c.getex(k), b"a")
    equal(c.ttl(k), -1)
    equal(c.getex(k, ex=100), b"a")
    near(c.ttl(k), 100)
    equal(c.getex(k, px=200_000), b"a")
    near(c.ttl(k), 200)
    equal(c.getex(k, exat=int(time.time()) + 300), b"a")
    near(c.ttl(k), 300)
    equal(c.getex(k, persist=True), b"a")
    equal(c.ttl(k), -1)


@check("GETDEL")
def reads_and_deletes(c):
    k = key()
    equal(c.getdel(k), None)
    c.set(k, "a")
    equal(c.getdel(k), b"a")
    equal(c.exists(k), 0)


@check("GETSET")
def replaces_and_returns(c):
    k = key()
    equal(c.getset(k, "a"), None)
    c.expire(k, 100)
    equal(c.getset(k, "b"), b"a")
    equal(c.get(k), b"b")
    equal(c.ttl(k), -1)


@check("MSET")
def stores_all(c):
    values = {key(str(n)): str(n).encode() for n in range(500)}
    equal(c.mset(values), True)
    equal(c.mget(list(values)), list(values.values()))


@check("MGET")
def reads_all_with_holes(c):
    a, b, h = key("a"), key("b"), key("h")
    c.mset({a: "1", b: "2"})
    c.hset(h, "f", "v")
    equal(c.mget(a, key(), h, b, a), [b"1", None, None, b"2", b"1"])


@check("MSETNX")
def stores_all_or_none(c):
    a, b = key(), key()
    equal(c.msetnx({a: "1", b: "2"}), True)
    equal(c.msetnx({key(): "1", b: "3"}), False)
    equal(c.get(b), b"2")


@check("APPEND")
def appends_and_creates(c):
    k = key()
    equal(c.append(k, "ab"), 2)
    equal(c.append(k, "cd"), 4)
    equal(c.get(k), b"abcd")


@check("STRLEN")
def counts_bytes(c):
    k = key()
    equal(c.strlen(k), 0)
    c.set(k, "héllo")
    equal(c.strlen(k), 6)


@check("GETRANGE")
def reads_a_part(c):
    k = key()
    c.set(k, "This is a string")
    equal(c.getrange(k, 0, 3), b"This")
    equal(c.getrange(k, -3, -1), b"ing")
    equal(c.getrange(k, 10, 100), b"string")
    equal(c.getrange(k, 5, 2), b"")
    equal(c.getrange(key(), 0, -1), b"")


@check("SUBSTR")
def reads_a_part_under_its_old_name(c):
    k = key()
    c.set(k, "This is a string")
    equal(c.substr(k, 0, 3), b"This")


@check("SETRANGE")
def writes_a_part(c):
    k = key()
    c.set(k, "Hello World")
    equal(c.setrange(k, 6, "Redis"), 11)
    equal(c.get(k), b"Hello Redis")
    fresh = key()
    equal(c.setrange(fresh, 3, "x"), 4)
    equal(c.get(fresh), b"\0\0\0x")


@check("INCR")
def counts_up(c):
    k = key()
    equal(c.incr(k), 1)
    equal(c.incr(k), 2)
    equal(c.get(k), b"2")
    c.set(k, 2**63 - 1)
    refused("increment or decrement would overflow", c.incr, k)


@check("INCRBY")
def adds(c):
    k = key()
    equal(c.incrby(k, 40), 40)
    equal(c.incrby(k, -50), -10)


@check("INCRBYFLOAT")
def adds_fractions(c):
    k = key()
    equal(c.incrbyfloat(k, 10.5), 10.5)
    equal(c.incrbyfloat(k, 0.1), 10.6)
    equal(c.get(k), b"10.6")
    c.set(k, "5.0e3")
    equal(c.incrbyfloat(k, 200), 5200.0)
    equal(c.get(k), b"5200")


@check("DECR")
def counts_down(c):
    k = key()
    equal(c.decr(k), -1)
    equal(c.decr(k), -2)


@check("DECRBY")
def subtracts(c):
    k = key()
    c.set(k, 10)
    equal(c.decrby(k, 3), 7)


@check("DEL")
def deletes_and_counts(c):
    keys = [key(str(n)) for n in range(100)]
    c.mset(dict.fromkeys(keys, "a"))
    equal(c.delete(*keys, key()), 100)
    equal(c.exists(*keys), 0)


@check("UNLINK")
def deletes_too(c):
    a, b = key(), key()
    c.mset({a: "1", b: "2"})
    equal(c.unlink(a, b, key()), 2)


@check("EXISTS")
def counts_repeats(c):
    k = key()
    c.set(k, "a")
    equal(c.exists(k, k, key()), 2)


@check("EXPIRE")
def nx_xx_gt_and_lt(c):
    k = key()
    equal(c.expire(k, 100), False)
    c.set(k, "a")
    equal(c.expire(k, 100, xx=True), False)
    equal(c.expire(k, 100, nx=True), True)
    equal(c.expire(k, 200, nx=True), False)
    equal(c.expire(k, 50, gt=True), False)
    equal(c.expire(k, 200, gt=True), True)
    equal(c.expire(k, 300, lt=True), False)
    equal(c.expire(k, 60, lt=True), True)
    near(c.ttl(k), 60)
    equal(c.expire(k, -1), True)
    equal(c.exists(k), 0)


@check("PEXPIRE")
def takes_milliseconds(c):
    k = key()
    c.set(k, "a")
    equal(c.pexpire(k, 100_000), True)
    near(c.ttl(k), 100)


@check("EXPIREAT")
def takes_a_moment(c):
    k, at = key(), int(time.time()) + 100
    c.set(k, "a")
    equal(c.expireat(k, at), True)
    equal(c.expiretime(k), at)


@check("PEXPIREAT")
def takes_a_moment_in_milliseconds(c):
    k, at = key(), int(time.time()) + 100
    c.set(k, "a")
    equal(c.pexpireat(k, at * 1000), True)
    equal(c.pexpiretime(k), at * 1000)


@check("TTL")
def tells_absent_from_unlimited(c):
    k = key()
    equal(c.ttl(k), -2)
    c.set(k, "a")
    equal(c.ttl(k), -1)
    c.expire(k, 10)
    near(c.ttl(k), 10)


@check("PTTL")
def counts_milliseconds(c):
    k = key()
    equal(c.pttl(k), -2)
    c.set(k, "a")
    equal(c.pttl(k), -1)
    c.expire(k, 10)
    assert 8000 <= c.pttl(k) <= 11000, c.pttl(k)


@check("EXPIRETIME")
def tells_absent_from_unlimited_too(c):
    k = key()
    equal(c.expiretime(k), -2)
    c.set(k, "a")
    equal(c.expiretime(k), -1)
    equal(c.pexpiretime(k), -1)


@check("PEXPIRETIME")
def is_in_milliseconds(c):
    k, at = key(), int(time.time()) + 100
    c.set(k, "a", exat=at)
    equal(c.pexpiretime(k), at * 1000)


@check("PERSIST")
def removes_the_expiry(c):
    k = key()
    equal(c.persist(k), False)
    c.set(k, "a", ex=100)
    equal(c.persist(k), True)
    equal(c.persist(k), False)
    equal(c.ttl(k), -1)


@check("TOUCH")
def counts_what_is_there(c):
    a, b = key(), key()
    c.mset({a: "1", b: "2"})
    equal(c.touch(a, b, key()), 2)


@check("TYPE")
def names_strings_and_hashes(c):
    s, h = key(), key()
    c.set(s, "a")
    c.hset(h, "f", "v")
    equal([c.type(k) for k in (s, h, key())], [b"string", b"hash", b"none"])


@check("RENAME")
def moves_a_value(c):
    a, b = key(), key()
    c.set(a, "1")
    equal(c.rename(a, b), True)
    equal([c.get(a), c.get(b)], [None, b"1"])


@check("RENAMENX")
def moves_only_to_an_absent_key(c):
    a, b = key(), key()
    c.mset({a: "1", b: "2"})
    equal(c.renamenx(a, b), False)
    equal(c.renamenx(a, key()), True)


@check("COPY")
def copies_a_value(c):
    a, b = key(), key()
    c.set(a, "1")
    equal(c.copy(a, b), True)
    equal(c.copy(a, b), False)
    equal(c.copy(a, b, replace=True), True)
    equal(c.get(b), b"1")


@check("SCAN")
def finds_every_key_with_match_and_count(c):
    prefix = key()
    keys = {f"{prefix}:{n}".encode() for n in range(1000)}
    c.mset(dict.fromkeys(keys, "a"))
    found, cursor = set(), 0
    while True:
        cursor, some = c.scan(cursor, match=f"{prefix}:*", count=100)
        found.update(some)
        if cursor == 0:
            break
    equal(found, keys)


@check("SCAN")
def iterates_by_type(c):
    prefix = key()
    c.set(f"{prefix}:s", "a")
    c.hset(f"{prefix}:h", "f", "v")
    equal(set(c.scan_iter(match=f"{prefix}:*")), {f"{prefix}:{x}".encode() for x in "sh"})
    equal(list(c.scan_iter(match=f"{prefix}:*", _type="HASH")), [f"{prefix}:h".encode()])
    equal(list(c.scan_iter(match=f"{prefix}:*", _type="STRING")), [f"{prefix}:s".encode()])


@check("KEYS")
def matches_patterns(c):
    prefix = key()
    c.mset({f"{prefix}:{n}": "a" for n in ("one", "two", "three")})
    equal(sorted(c.keys(f"{prefix}:t*")), sorted(f"{prefix}:{n}".encode() for n in ("two", "three")))
    equal(c.keys(f"{prefix}:[on]?e"), [f"{prefix}:one".encode()])


@check("RANDOMKEY")
def gives_some_key(c):
    c.set(key(), "a")
    equal(c.exists(c.randomkey()), 1)


@check("DBSIZE")
def counts_keys(c):
    before = c.dbsize()
    c.mset({key(): "a", key(): "b"})
    equal(c.dbsize(), before + 2)


@check("SETBIT")
def sets_and_returns_the_old_bit(c):
    k = key()
    equal(c.setbit(k, 7, 1), 0)
    equal(c.setbit(k, 7, 0), 1)
    equal(c.setbit(k, 15, 1), 0)
    equal(c.get(k), b"\0\1")


@check("GETBIT")
def reads_a_bit(c):
    k = key()
    c.set(k, b"\x80")
    equal([c.getbit(k, 0), c.getbit(k, 1), c.getbit(k, 100)], [1, 0, 0])


@check("BITCOUNT")
def counts_in_ranges(c):
    k = key()
    c.set(k, "foobar")
    equal([c.bitcount(k), c.bitcount(k, 0, 0), c.bitcount(k, 1, 1), c.bitcount(k, 5, 30, "BIT")], [26, 4, 6, 17])


@check("BITPOS")
def finds_the_first(c):
    k = key()
    c.set(k, b"\xff\xf0\x00")
    equal([c.bitpos(k, 0), c.bitpos(k, 1, 2), c.bitpos(k, 1), c.bitpos(key(), 1)], [12, -1, 0, -1])


@check("BITFIELD")
def gets_sets_and_adds(c):
    k = key()
    field = c.bitfield(k)
    equal(field.set("u8", "#1", 255).get("u8", "#1").incrby("u8", "#1", 10, "SAT").execute(), [0, 255, 255])
    equal(c.bitfield(k).incrby("u2", 100, 1, "FAIL").get("u4", 0).execute(), [1, 0])
    equal(c.bitfield(k, "FAIL").incrby("u8", "#1", 1).execute(), [None])


@check("BITFIELD_RO")
def only_reads(c):
    k = key()
    c.set(k, b"\x12\x34")
    equal(c.bitfield_ro(k, "u4", 0, [("u8", "#1")]), [1, 0x34])


@check("HSET")
def adds_and_replaces_fields(c):
    k = key()
    equal(c.hset(k, "a", "1"), 1)
    equal(c.hset(k, "a", "2"), 0)
    equal(c.hset(k, mapping={"b": "3", "c": "4", "a": "5"}), 2)
    equal(c.hgetall(k), {b"a": b"5", b"b": b"3", b"c": b"4"})


@check("HSETNX")
def adds_only_an_absent_field(c):
    k = key()
    equal([c.hsetnx(k, "a", "1"), c.hsetnx(k, "a", "2"), c.hget(k, "a")], [1, 0, b"1"])


@check("HGET")
def reads_a_field(c):
    k = key()
    c.hset(k, "a", "1")
    equal([c.hget(k, "a"), c.hget(k, "b"), c.hget(key(), "a")], [b"1", None, None])


@check("HMSET")
def adds_fields_under_its_old_name(c):
    k = key()
    equal(c.execute_command("HMSET", k, "a", "1", "b", "2") in (True, b"OK"), True)
    equal(c.hlen(k), 2)


@check("HMGET")
def reads_fields_with_holes(c):
    k = key()
    c.hset(k, mapping={"a": "1", "b": "2"})
    equal(c.hmget(k, "a", "x", "b"), [b"1", None, b"2"])
    equal(c.hmget(key(), "a", "b"), [None, None])


@check("HGETALL")
def reads_large_hashes(c):
    k = key()
    fields = {b"field %d" % n: os.urandom(20) for n in range(2000)}
    equal(c.hset(k, mapping=fields), 2000)
    equal(c.hgetall(k), fields)
    equal(c.hgetall(key()), {})


@check("HDEL")
def removes_fields_and_then_the_key(c):
    k = key()
    c.hset(k, mapping={"a": "1", "b": "2"})
    equal(c.hdel(k, "a", "x"), 1)
    equal(c.hdel(k, "b"), 1)
    equal(c.exists(k), 0)


@check("HLEN")
def counts_fields(c):
    k = key()
    c.hset(k, mapping={"a": "1", "b": "2"})
    equal([c.hlen(k), c.hlen(key())], [2, 0])


@check("HEXISTS")
def looks_for_a_field(c):
    k = key()
    c.hset(k, "a", "1")
    equal([c.hexists(k, "a"), c.hexists(k, "b")], [True, False])


@check("HKEYS")
def lists_fields(c):
    k = key()
    c.hset(k, mapping={"a": "1", "b": "2"})
    equal(sorted(c.hkeys(k)), [b"a", b"b"])


@check("HVALS")
def lists_values(c):
    k = key()
    c.hset(k, mapping={"a": "1", "b": "2"})
    equal(sorted(c.hvals(k)), [b"1", b"2"])


@check("HINCRBY")
def adds_to_a_field(c):
    k = key()
    equal([c.hincrby(k, "a", 5), c.hincrby(k, "a", -7)], [5, -2])
    c.hset(k, "t", "text")
    refused("hash value is not an integer", c.hincrby, k, "t", 1)


@check("HINCRBYFLOAT")
def adds_fractions_to_a_field(c):
    k = key()
    equal([c.hincrbyfloat(k, "a", 1.5), c.hincrbyfloat(k, "a", 2.25)], [1.5, 3.75])


@check("HSTRLEN")
def counts_bytes_of_a_field(c):
    k = key()
    c.hset(k, "a", "hello")
    equal([c.hstrlen(k, "a"), c.hstrlen(k, "b")], [5, 0])


@check("HSCAN")
def iterates_over_fields(c):
    k = key()
    fields = {b"f%d" % n: b"%d" % n for n in range(1000)}
    c.hset(k, mapping=fields)
    equal(dict(c.hscan_iter(k, count=50)), fields)
    equal(dict(c.hscan_iter(k, match="f99?")), {b"f%d" % n: b"%d" % n for n in range(990, 1000)})


@check("HRANDFIELD")
def gives_some_fields(c):
    k = key()
    fields = {b"a": b"1", b"b": b"2", b"c": b"3"}
    c.hset(k, mapping=fields)
    assert c.hrandfield(k) in fields
    equal(sorted(c.hrandfield(k, 5)), sorted(fields))
    equal(len(c.hrandfield(k, -7)), 7)
    pairs = c.hrandfield(k, 2, withvalues=True)
    flat = [word for pair in pairs for word in pair] if isinstance(pairs[0], list) else pairs
    equal(len(flat), 4)
    equal([fields[name] for name in flat[::2]], flat[1::2])


@check("pipeline")
def many_commands_in_one_write(c):
    k = key()
    with c.pipeline(transaction=False) as pipe:
        for n in range(1000):
            pipe.set(f"{k}:{n}", n)
        for n in range(1000):
            pipe.get(f"{k}:{n}")
        pipe.incr(f"{k}:0").hset(f"{k}:h", mapping={"a": "1"}).hgetall(f"{k}:h")
        got = pipe.execute()
    equal(got, [True] * 1000 + [b"%d" % n for n in range(1000)] + [1, 1, {b"a": b"1"}])


@check("pipeline")
def an_error_stands_at_its_place(c):
    k = key()
    with c.pipeline(transaction=False) as pipe:
        pipe.set(k, "text").incr(k).get(k)
        got = pipe.execute(raise_on_error=False)
    equal([got[0], got[2]], [True, b"text"])
    assert isinstance(got[1], ResponseError), got[1]


@check("MULTI")
def runs_a_transaction(c):
    k = key()
    with c.pipeline() as pipe:
        equal(pipe.set(k, 1).incr(k).execute(), [True, 2])


@check("binary")
def keys_values_and_fields_of_any_bytes(c):
    k = BINARY + key().encode()
    equal(c.set(k, BINARY), True)
    equal(c.get(k), BINARY)
    equal(c.mget([k]), [BINARY])
    h = key()
    c.hset(h, BINARY, BINARY)
    equal(c.hgetall(h), {BINARY: BINARY})
    c.set(k, b"")
    equal(c.get(k), b"")


@check("binary")
def keys_and_values_of_text(_):
    c = connect(decode_responses=True)
    k = key("schlüssel-鍵")
    c.set(k, "wert-値")
    equal(c.get(k), "wert-値")
    equal(list(c.scan_iter(match=k)), [k])


@check("large")
def values_of_a_mebibyte_less_a_little(c):
    k, h = key(), key()
    equal(c.set(k, LARGE), True)
    equal(c.get(k), LARGE)
    equal(c.getrange(k, 1000, 200_000), LARGE[1000:200_001])
    equal(c.strlen(k), len(LARGE))
    half = LARGE[:500_000]
    c.hset(h, "a", half)
    equal(c.hget(h, "a"), half)


@check("large")
def many_in_one_reply(c):
    values = {key(str(n)): os.urandom(200_000) for n in range(20)}
    equal(c.mset(values), True)
    equal(c.mget(list(values)), list(values.values()))


@check("errors")
def wrong_types(c):
    s, h = key(), key()
    c.set(s, "a")
    c.hset(h, "f", "v")
    for action in (c.get, c.incr, c.strlen, c.getdel):
        refused(WRONG_TYPE, action, h)
    for action in (c.hgetall, c.hlen, c.hkeys):
        refused(WRONG_TYPE, action, s)
    equal(c.get(s), b"a")


@check("errors")
def no_integers(c):
    k = key()
    c.set(k, "text")
    refused("value is not an integer or out of range", c.incr, k)
    refused("value is not a valid float", c.incrbyfloat, k, 1.5)
    equal(c.get(k), b"text")


@check("errors")
def unknown_commands(c):
    refused("unknown command 'BOGUS', with args beginning with: 'a' 'b'", c.execute_command, "BOGUS", "a", "b")
    refused("wrong number of arguments for 'get' command", c.execute_command, "GET")
    equal(c.ping(), True)


@check("ECHO")
def echoes(c):
    equal(c.echo("hello"), b"hello")
    equal(c.ping(), True)


@check("CLIENT")
def names_and_numbers(c):
    with c.client() as one:
        equal(one.client_setname("a-name"), True)
        equal(one.client_getname() in ("a-name", b"a-name"), True)
        assert one.client_id() > 0
        equal(one.client_info()["name"], "a-name")
        assert any(line["name"] == "a-name" for line in one.client_list())


@check("INFO")
def reports(c):
    info = c.info()
    for name in ("redis_version", "redis_mode", "tcp_port", "uptime_in_seconds", "connected_clients", "used_memory", "role", "loading"):
        assert name in info, name
    equal([info["role"], info["loading"], info["redis_mode"]], ["master", 0, "standalone"])
    assert c.info("server")["redis_version"].count(".") == 2


@check("CONFIG")
def gets_settings(c):
    for name in ("save", "appendonly", "databases", "maxmemory"):
        equal(list(c.config_get(name)), [name])


@check("COMMAND")
def describes_commands(c):
    commands = c.command()
    equal(commands["get"]["arity"], 2)
    equal(commands["hset"]["first_key_pos"], 1)
    assert c.command_count() == len(commands)


@check("pool")
def fifty_connections_on_threads(_):
    c, wrong = connect(max_connections=50), []

    def work(n):
        try:
            for i in range(40):
                k = key(f"{n}-{i}")
                c.set(k, f"{n}-{i}")
                if c.get(k) != f"{n}-{i}".encode():
                    wrong.append(k)
        except Exception as error:  # reported below
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(wrong, [])


@check("RESP2")
def works_too(_):
    c = connect(protocol=2)
    h = key()
    c.hset(h, mapping={"a": "1"})
    equal(c.hgetall(h), {b"a": b"1"})
    equal(c.get(key()), None)


@check("RESP3")
def works_as_well(_):
    c = connect(protocol=3)
    h = key()
    c.hset(h, mapping={"a": "1"})
    equal(c.hgetall(h), {b"a": b"1"})
    equal(c.get(key()), None)


@check("FLUSHDB")
def removes_all(c):
    c.set(key(), "a")
    equal(c.flushdb(), True)
    equal(c.dbsize(), 0)
    c.set(key(), "a")
    equal(c.flushall(), True)
    equal(c.dbsize(), 0)


@check("connects", "session")
def and_works(c):
    k = key()
    equal([c.ping(), c.set(k, LARGE), c.get(k)], [True, True, LARGE])
    with c.pipeline(transaction=False) as pipe:
        equal(pipe.hset(k + "h", "a", "1").hgetall(k + "h").execute(), [1, {b"a": b"1"}])


@check("connects", "session")
def but_not_with_a_wrong_password(_):
    if os.environ.get("PASSWORD"):
        refused("invalid username-password pair", connect(password="wrong").ping)
        refused("uthenticat", connect(username=None, password=None).ping)


@check("restart", "restart")
def values_are_still_there(c):
    values = {key(str(n)): os.urandom(1000) for n in range(300)}
    h = key()
    c.mset(values)
    c.hset(h, mapping={"a": "1"})
    c.set(h + "t", "a", ex=1000)
    print("restart", flush=True)
    sys.stdin.readline()
    equal(c.mget(list(values)), list(values.values()))
    equal(c.hgetall(h), {b"a": b"1"})
    equal(990 < c.ttl(h + "t") <= 1000, True)


def main():
    for command, function in CHECKS[MODE]:
        name = f"{command} {function.__name__.replace('_', ' ')}"
        try:
            function(connect())
            print(f"ok {name}", flush=True)
        except Exception as error:  # each check stands alone
            where = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith("api.py")][-1]
            text = f"{type(error).__name__}: {error} ({where.line})"
            print(f"not ok {name}: " + text.replace("\n", " "), flush=True)
    print("done")


main()
