"""pylibmc: libmemcached's text protocol, buffered and not."""

import random
import time

import pylibmc
from api import check, equal, key, main, raises

SERVER = []


def connect(host, port):
    SERVER[:] = [f"{host}:{port}"]
    return pylibmc.Client(SERVER, binary=False, behaviors={"cas": True, "tcp_nodelay": True})


@check
def set_and_get(c):
    k = key()
    equal(c.set(k, b"value"), True)
    equal(c.get(k), b"value")
    equal(c.get(key()), None)
    equal(c.get(key(), "other"), "other")


@check
def types_travel_in_the_flags(c):
    k = key()
    for value in (b"bytes", "text ü", 42, 2**70, True, 1.5, {"a": [1, 2]}, None):
        c.set(k, value)
        equal(c.get(k), value)


@check
def add_and_replace(c):
    k = key()
    equal(c.replace(k, b"a"), False)
    equal(c.add(k, b"a"), True)
    equal(c.add(k, b"b"), False)
    equal(c.replace(k, b"c"), True)
    equal(c.get(k), b"c")


@check
def append_and_prepend(c):
    k = key()
    equal(c.append(k, b"x"), False)
    equal(c.prepend(k, b"x"), False)
    c.set(k, b"b")
    equal(c.append(k, b"c"), True)
    equal(c.prepend(k, b"a"), True)
    equal(c.get(k), b"abc")


@check
def gets_and_cas(c):
    k = key()
    equal(c.gets(k), (None, None))
    c.set(k, b"a")
    value, unique = c.gets(k)
    equal(value, b"a")
    equal(c.cas(k, b"b", unique), True)
    equal(c.cas(k, b"c", unique), False)
    equal(c.get(k), b"b")
    c.delete(k)
    raises(pylibmc.NotFound, c.cas, k, b"d", unique)


@check
def get_multi_of_five_thousand_keys(c):
    values = {f"{n}": f"value {n}" for n in range(5000)}
    prefix = key() + "-"
    equal(c.set_multi(values, key_prefix=prefix), [])
    equal(c.get_multi(list(values), key_prefix=prefix), values)
    equal(c.get_multi(["0", "absent", "4999"], key_prefix=prefix), {"0": "value 0", "4999": "value 4999"})


@check
def add_multi_and_delete_multi(c):
    values = {key(): b"a" for _ in range(50)}
    equal(c.add_multi(values), [])
    equal(sorted(c.add_multi(values)), sorted(values))
    equal(c.delete_multi(list(values)), True)
    equal(c.get_multi(list(values)), {})
    equal(c.delete_multi(list(values)), False)


@check
def delete(c):
    k = key()
    c.set(k, b"a")
    equal(c.delete(k), True)
    equal(c.delete(k), False)
    equal(c.get(k), None)


@check
def incr_and_decr_with_wrap_and_floor(c):
    k = key()
    raises(pylibmc.NotFound, c.incr, k)
    raises(pylibmc.NotFound, c.decr, k)
    c.set(k, 10)
    equal(c.incr(k), 11)
    equal(c.incr(k, 5), 16)
    equal(c.decr(k, 9), 7)
    equal(c.get(k), 7)
    equal(c.decr(k, 100), 0)
    c.set(k, 2**64 - 1)
    equal(c.incr(k, 1), 0)
    c.set(k, b"text")
    raises(pylibmc.Error, c.incr, k)
    equal(c.get(k), b"text")


@check
def incr_multi(c):
    values = {key(): n for n in range(20)}
    c.set_multi(values)
    c.incr_multi(list(values), delta=100)
    equal(c.get_multi(list(values)), {k: n + 100 for k, n in values.items()})


@check
def touch_and_expiry(c):
    short, long, touched = key(), key(), key()
    c.set(short, b"a", time=3)
    c.set(long, b"a", time=int(time.time()) + 100)
    c.set(touched, b"a", time=3)
    equal(c.touch(touched, 100), True)
    equal(c.touch(key(), 100), False)
    equal(c.get(short), b"a")
    time.sleep(4.2)
    equal(c.get(short), None)
    equal(c.get(long), b"a")
    equal(c.get(touched), b"a")


@check
def binary_empty_and_large_values(c):
    k, chance = key(), random.Random(1)
    for value in (b"", bytes(range(256)) * 8, b"\r\nEND\r\n", chance.randbytes(65_537), chance.randbytes(1_000_000)):
        c.set(k, value)
        equal(c.get(k), value)


@check
def compressed_values(c):
    k = key()
    c.set(k, "x" * 3_000_000, min_compress_len=1000)
    equal(c.get(k), "x" * 3_000_000)


@check
def large_multi_set(c):
    chance = random.Random(2)
    values = {key(): chance.randbytes(20_000) for _ in range(500)}
    equal(c.set_multi(values), [])
    equal(c.get_multi(list(values)), values)


@check
def too_large_is_refused_and_the_connection_goes_on(c):
    k, random_text = key(), random.Random(3).randbytes(2**21)
    c.set(k, b"old")
    raises(pylibmc.Error, c.set, k, random_text)
    equal(c.set(k, b"new"), True)
    equal(c.get(k), b"new")


@check
def keys_of_250_bytes(c):
    k = "p" * 250
    equal(c.set(k, b"a"), True)
    equal(c.get(k), b"a")
    equal(c.delete(k), True)
    raises((pylibmc.Error, ValueError), c.set, "p" * 251, b"a")
    equal(c.set(key(), b"a"), True)


@check
def stats(c):
    (name, stats), *rest = c.get_stats()
    equal(rest, [])
    for wanted in ("pid", "uptime", "curr_items", "cmd_get", "limit_maxbytes", "version"):
        assert wanted in stats, wanted
    assert c.get_stats("settings")


@check
def noreply_writes_keep_the_order(_):
    for behaviors in ({"_noreply": True}, {"no_block": True, "_noreply": True}):
        c = pylibmc.Client(SERVER, binary=False, behaviors=behaviors)
        k = key()
        for n in range(500):
            c.set(k, str(n))
        equal(c.get(k), "499")
        c.delete(k)
        equal(c.get(k), None)


@check
def pools_on_threads(c):
    import threading

    pool, wrong = pylibmc.ThreadMappedPool(c), []

    def work(n):
        with pool.reserve() as mine:
            for i in range(100):
                k = key(f"{n}-{i}")
                mine.set(k, i)
                if mine.get(k) != i:
                    wrong.append(k)
        pool.relinquish()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(wrong, [])


@check
def dictionary_interface(c):
    k = key()
    c[k] = b"a"
    equal(k in c, True)
    equal(c[k], b"a")
    del c[k]
    equal(k in c, False)
    raises(KeyError, lambda: c[k])


@check
def flush_all(c):
    k = key()
    c.set(k, b"a")
    equal(c.flush_all(), True)
    equal(c.get(k), None)
    c.set(k, b"b")
    equal(c.get(k), b"b")


@check
def disconnect_and_connect_again(c):
    k = key()
    c.set(k, b"a")
    c.disconnect_all()
    equal(c.get(k), b"a")


main(connect)
