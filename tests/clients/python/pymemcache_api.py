"""pymemcache: its Client, PooledClient and HashClient."""

import random
import time

from api import check, equal, key, main, raises
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import (
    MemcacheClientError,
    MemcacheIllegalInputError,
    MemcacheServerError,
    MemcacheUnknownCommandError,
)
from pymemcache.serde import pickle_serde

ADDRESS = []


def connect(host, port):
    ADDRESS[:] = [(host, port)]
    return Client((host, port), timeout=10, connect_timeout=10, default_noreply=False)


@check
def set_and_get(c):
    k = key()
    equal(c.set(k, b"value"), True)
    equal(c.get(k), b"value")
    equal(c.get(key(), default=b"other"), b"other")


@check
def add_stores_only_what_is_absent(c):
    k = key()
    equal(c.add(k, b"a"), True)
    equal(c.add(k, b"b"), False)
    equal(c.get(k), b"a")


@check
def replace_stores_only_what_is_present(c):
    k = key()
    equal(c.replace(k, b"a"), False)
    c.set(k, b"a")
    equal(c.replace(k, b"b"), True)
    equal(c.get(k), b"b")


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
    equal(c.cas(k, b"x", b"1"), None)
    c.set(k, b"a")
    value, unique = c.gets(k)
    equal(value, b"a")
    equal(c.cas(k, b"b", unique), True)
    equal(c.cas(k, b"c", unique), False)
    equal(c.get(k), b"b")


@check
def get_many_of_five_thousand_keys(c):
    prefix = key()
    values = {f"{prefix}-{n}": b"value %d" % n for n in range(5000)}
    equal(c.set_many(values), [])
    equal(c.get_many(values), values)
    equal(c.get_many([*values, key("absent")]), values)
    equal(c.get_many([]), {})


@check
def gets_many(c):
    values = {key(): b"%d" % n for n in range(100)}
    c.set_many(values)
    got = c.gets_many(values)
    equal({k: v for k, (v, _) in got.items()}, values)
    equal(len({unique for _, unique in got.values()}), 100)


@check
def delete_and_delete_many(c):
    k, l = key(), key()
    c.set_many({k: b"a", l: b"b"})
    equal(c.delete(k), True)
    equal(c.delete(k), False)
    equal(c.get(k), None)
    equal(c.delete_many([k, l], noreply=False), True)
    equal(c.get(l), None)


@check
def incr_and_decr_with_wrap_and_floor(c):
    k = key()
    equal(c.incr(k, 1), None)
    equal(c.decr(k, 1), None)
    c.set(k, b"10")
    equal(c.incr(k, 5), 15)
    equal(c.decr(k, 6), 9)
    equal(c.get(k).strip(), b"9")
    equal(c.decr(k, 100), 0)
    c.set(k, b"18446744073709551615")
    equal(c.incr(k, 1), 0)
    c.set(k, b"text")
    raises(MemcacheClientError, c.incr, k, 1)
    equal(c.get(k), b"text")


@check
def touch_and_expiry(c):
    short, long, touched, past = key(), key(), key(), key()
    c.set(short, b"a", expire=3)
    c.set(long, b"a", expire=int(time.time()) + 100)
    c.set(touched, b"a", expire=3)
    equal(c.touch(touched, 100), True)
    equal(c.touch(key(), 100), False)
    equal(c.set(past, b"a", expire=-1), True)
    equal(c.get(past), None)
    equal(c.get(short), b"a")
    time.sleep(4.2)
    equal(c.get(short), None)
    equal(c.get(long), b"a")
    equal(c.get(touched), b"a")


@check
def flags_come_back(c):
    k, seen = key(), []

    class Recording:
        def serialize(self, _key, value):
            return value, 2**32 - 2

        def deserialize(self, _key, value, flags):
            seen.append(flags)
            return value

    other = Client(ADDRESS[0], serde=Recording(), default_noreply=False)
    other.set(k, b"a")
    equal(other.get(k), b"a")
    c.set(k, b"b", flags=7)
    other.get(k)
    c.append(k, b"b", flags=9)
    other.get(k)
    c.set(k, b"c")
    other.get(k)
    equal(seen, [2**32 - 2, 7, 7, 0])


@check
def objects_survive_with_pickle(_):
    k = key()
    c = Client(ADDRESS[0], serde=pickle_serde, default_noreply=False)
    for value in ({"a": [1, 2, 3]}, 42, "text ü", b"bytes", None, 2**80):
        c.set(k, value)
        equal(c.get(k), value)


@check
def binary_empty_and_large_values(c):
    k, chance = key(), random.Random(1)
    for value in (b"", bytes(range(256)) * 8, b"\r\nEND\r\n", chance.randbytes(65_537), chance.randbytes(1_000_000)):
        c.set(k, value)
        equal(c.get(k), value)


@check
def large_multi_set(c):
    chance = random.Random(2)
    values = {key(): chance.randbytes(20_000) for _ in range(500)}
    equal(c.set_many(values), [])
    equal(c.get_many(values), values)


@check
def too_large_is_refused_and_the_connection_goes_on(c):
    k = key()
    c.set(k, b"old")
    raises(MemcacheServerError, c.set, k, b"x" * 2**21)
    equal(c.get(k), None)
    equal(c.set(k, b"new"), True)
    equal(c.get(k), b"new")


@check
def illegal_keys_are_refused_and_the_connection_goes_on(c):
    raises(MemcacheIllegalInputError, c.set, "a b", b"x")
    raises(MemcacheIllegalInputError, c.get, "k" * 251)
    k = "k" * 250
    equal(c.set(k, b"a"), True)
    equal(c.get(k), b"a")
    equal(c.delete(k), True)


@check
def unicode_keys(_):
    c = Client(ADDRESS[0], allow_unicode_keys=True, default_noreply=False)
    k = key("schlüssel-鍵")
    equal(c.set(k, b"a"), True)
    equal(c.get(k), b"a")
    equal(c.get_many([k]), {k: b"a"})


@check
def key_prefix(_):
    prefix = key() + ":"
    c = Client(ADDRESS[0], key_prefix=prefix, default_noreply=False)
    c.set("a", b"1")
    equal(c.get_many(["a", "b"]), {"a": b"1"})
    equal(Client(ADDRESS[0]).get(prefix + "a"), b"1")


@check
def noreply_for_every_command_keeps_the_order(_):
    c = Client(ADDRESS[0], default_noreply=True)
    k = key()
    equal(c.set(k, b"1", noreply=True), True)
    c.add(k, b"9", noreply=True)
    c.replace(k, b"2", noreply=True)
    c.append(k, b"0", noreply=True)
    c.prepend(k, b"1", noreply=True)
    c.incr(k, 5, noreply=True)
    c.decr(k, 1, noreply=True)
    c.touch(k, 0, noreply=True)
    c.cas(k, b"x", b"1", noreply=True)
    c.incr(k, 2**64, noreply=True)
    equal(c.get(k), b"124")
    c.delete(k, noreply=True)
    c.delete(k, noreply=True)
    equal(c.get(k), None)
    c.set_many({k: b"a", k + "2": b"b"}, noreply=True)
    c.delete_many([k], noreply=True)
    equal(c.get_many([k, k + "2"]), {k + "2": b"b"})


@check
def stats_and_version(c):
    stats = c.stats()
    for name in (b"pid", b"uptime", b"curr_items", b"cmd_get", b"limit_maxbytes"):
        assert name in stats, name
    assert c.stats("settings")
    c.stats("items")
    c.stats("slabs")
    version = c.version()
    assert version.count(b".") == 2, version


@check
def raw_command(c):
    equal(c.raw_command("mn"), b"MN")
    raises(MemcacheUnknownCommandError, c.raw_command, "bogus")
    equal(c.raw_command(b"verbosity 0"), b"OK")


@check
def dictionary_interface(c):
    k = key()
    c[k] = b"a"
    equal(c[k], b"a")
    del c[k]
    raises(KeyError, lambda: c[k])


@check
def pooled_client_on_threads(_):
    import threading

    c = PooledClient(ADDRESS[0], max_pool_size=8, default_noreply=False)
    wrong = []

    def work(n):
        for i in range(100):
            k = key(f"{n}-{i}")
            c.set(k, b"%d" % i)
            if c.get(k) != b"%d" % i:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(wrong, [])


@check
def hash_client(_):
    c = HashClient([ADDRESS[0]], use_pooling=True, default_noreply=False)
    values = {key(): b"%d" % n for n in range(200)}
    equal(c.set_many(values), [])
    equal(c.get_many(values), values)
    equal(c.delete_many(values), True)
    equal(c.get_many(values), {})


@check
def flush_all_at_once_and_later(c):
    k = key()
    c.set(k, b"a")
    equal(c.flush_all(), True)
    equal(c.get(k), None)
    c.set(k, b"b")
    equal(c.get(k), b"b")
    equal(c.flush_all(delay=2), True)
    equal(c.get(k), b"b")
    time.sleep(3.2)
    equal(c.get(k), None)


@check
def quit_and_connect_again(c):
    k = key()
    c.set(k, b"a")
    c.quit()
    equal(c.get(k), b"a")
    c.close()
    equal(c.get(k), b"a")


main(connect)
