"""meta-memcache: the meta protocol with leases, stale values, recaching and conditional writes."""

import random
import time

from api import check, equal, key, main, raises
from meta_memcache import (
    CacheClient,
    Key,
    LeasePolicy,
    MemcacheError,
    Miss,
    NotStored,
    RecachePolicy,
    RequestFlags,
    ServerAddress,
    SetMode,
    StalePolicy,
    Success,
    Value,
    connection_pool_factory_builder,
)

IMMORTAL = 0
LONG = 1000


def connect(host, port):
    return CacheClient.cache_client_from_servers(
        servers=[ServerAddress(host, port)],
        # With its default buffer of 4 KiB this library takes a second for every 40 KB it reads.
        connection_pool_factory_fn=connection_pool_factory_builder(
            recv_timeout=10, connection_timeout=10, read_buffer_size=2**20
        ),
    )


@check
def set_and_get(c):
    k = key()
    equal(c.set(k, "value", ttl=LONG), True)
    equal(c.get(k), "value")
    equal(c.get(key()), None)


@check
def types_travel_in_the_flags(c):
    k = key()
    for value in ("text ü", b"bytes", 42, {"a": [1, 2]}, b"", "x" * 100_000):
        c.set(k, value, ttl=LONG)
        equal(c.get(k), value)


@check
def set_modes(c):
    k = key()
    equal(c.set(k, "a", ttl=LONG, set_mode=SetMode.REPLACE), False)
    equal(c.set(k, "b", ttl=LONG, set_mode=SetMode.ADD), True)
    equal(c.set(k, "c", ttl=LONG, set_mode=SetMode.ADD), False)
    equal(c.set(k, "c", ttl=LONG, set_mode=SetMode.APPEND), True)
    equal(c.set(k, "a", ttl=LONG, set_mode=SetMode.PREPEND), True)
    equal(c.get(k), "abc")
    equal(c.set(key(), "c", ttl=LONG, set_mode=SetMode.APPEND), False)


@check
def refill_adds(c):
    k = key()
    equal(c.refill(k, "a", ttl=LONG), True)
    equal(c.refill(k, "b", ttl=LONG), False)
    equal(c.get(k), "a")


@check
def get_cas_and_conditional_writes(c):
    k = key()
    equal(c.get_cas(k), (None, None))
    c.set(k, "a", ttl=LONG)
    value, unique = c.get_cas(k)
    equal(value, "a")
    equal(c.set(k, "b", ttl=LONG, cas_token=unique), True)
    equal(c.set(k, "c", ttl=LONG, cas_token=unique), False)
    equal(c.delete(k, cas_token=unique), False)
    equal(c.get(k), "b")
    equal(c.delete(k, cas_token=c.get_cas(k)[1]), True)
    equal(c.get(k), None)


@check
def multi_get_of_five_thousand_keys(c):
    prefix = key()
    values = {Key(f"{prefix}-{n}"): f"value {n}" for n in range(5000)}
    for k, value in values.items():
        c.set(k, value, ttl=LONG, no_reply=True)
    equal(c.multi_get(list(values)), values)
    absent = Key(key())
    equal(c.multi_get([absent, *list(values)[:9]])[absent], None)


@check
def get_typed(c):
    k = key()
    c.set(k, {"a": 1}, ttl=LONG)
    equal(c.get_typed(k, dict), {"a": 1})
    equal(c.get_typed(k, str), None)


@check
def delete_and_invalidate(c):
    k = key()
    c.set(k, "a", ttl=LONG)
    equal(c.delete(k), True)
    equal(c.delete(k), False)
    equal(c.invalidate(k), True)
    equal(c.get(k), None)


@check
def delta_with_wrap_and_floor(c):
    k = key()
    equal(c.delta(k, 1), False)
    equal(c.delta_and_get(k, 1), None)
    c.set(k, 10, ttl=LONG)
    equal(c.delta(k, 5), True)
    equal(c.delta_and_get(k, 5), 20)
    equal(c.delta_and_get(k, -7), 13)
    equal(c.get(k), 13)
    equal(c.delta_and_get(k, -100), 0)
    c.set(k, 2**64 - 1, ttl=LONG)
    equal(c.delta_and_get(k, 1), 0)


@check
def delta_initialize(c):
    k, l = key(), key()
    equal(c.delta_initialize(k, 1, initial_value=7, initial_ttl=LONG), True)
    equal(c.get(k), "7")
    equal(c.delta_initialize_and_get(k, 1, initial_value=7, initial_ttl=LONG), 8)
    equal(c.delta_initialize_and_get(l, 1, initial_value=3, initial_ttl=LONG), 3)
    equal(c.delta_and_get(l, 1, refresh_ttl=LONG), 4)


@check
def delta_of_text_is_an_error_and_the_connection_goes_on(c):
    k = key()
    c.set(k, "text", ttl=LONG)
    raises(MemcacheError, c.delta, k, 1)
    equal(c.get(k), "text")


@check
def touch_and_expiry(c):
    short, touched, got = key(), key(), key()
    for k in (short, touched, got):
        c.set(k, "a", ttl=3)
    equal(c.touch(touched, LONG), True)
    equal(c.touch(key(), LONG), False)
    equal(c.get(got, touch_ttl=LONG), "a")
    equal(c.get(short), "a")
    time.sleep(4.2)
    equal(c.get(short), None)
    equal(c.get(touched), "a")
    equal(c.get(got), "a")


@check
def lease_has_one_winner_and_the_others_wait(c):
    k, waits = key(), []
    policy = LeasePolicy(ttl=30, miss_retries=2)
    equal(c.get_or_lease(k, policy), None)

    def refilled(seconds):
        waits.append(seconds)
        c.set(k, "fresh", ttl=LONG)

    equal(c.get_or_lease(k, policy, lease_wait_fn=refilled), "fresh")
    equal(len(waits), 1)
    value, unique = c.get_or_lease_cas(k, policy)
    equal(value, "fresh")
    assert unique > 0


@check
def recache_has_one_winner_shortly_before_expiry(c):
    k, policy = key(), RecachePolicy(ttl=100)
    c.set(k, "a", ttl=50)
    equal(c.get(k, recache_policy=policy), None)
    equal(c.get(k, recache_policy=policy), "a")
    c.set(k, "b", ttl=LONG)
    equal(c.get(k, recache_policy=policy), "b")


@check
def stale_after_delete_has_one_winner(c):
    k, policy = key(), StalePolicy(mark_stale_on_deletion_ttl=30)
    c.set(k, "a", ttl=LONG)
    equal(c.delete(k, stale_policy=policy), True)
    equal(c.get(k), None)
    equal(c.get(k), "a")
    c.set(k, "b", ttl=LONG)
    equal(c.get(k), "b")


@check
def stale_when_a_lower_cas_writes(c):
    k, policy = key(), StalePolicy(mark_stale_on_cas_mismatch=True)
    c.set(k, "a", ttl=LONG)
    _, old = c.get_cas(k)
    c.set(k, "b", ttl=LONG)
    equal(c.set(k, "c", ttl=LONG, cas_token=old, stale_policy=policy), True)
    equal(c.get(k), None)
    equal(c.get(k), "c")


@check
def low_level_get_returns_everything(c):
    k = Key(key())
    c.meta_set(k, b"abc", RequestFlags(cache_ttl=LONG, client_flag=77))
    flags = RequestFlags(
        return_value=True, return_client_flag=True, return_cas_token=True, return_ttl=True,
        return_size=True, return_last_access=True, return_fetched=True,
    )
    first, second = c.meta_get(k, flags), c.meta_get(k, flags)
    assert isinstance(first, Value), first
    equal(first.flags.size, 3)
    assert LONG - 2 <= first.flags.ttl <= LONG, first.flags.ttl
    equal((first.flags.fetched, second.flags.fetched), (False, True))
    assert first.flags.last_access in (0, 1)
    equal(first.flags.cas_token, second.flags.cas_token)
    assert isinstance(c.meta_get(Key(key()), flags), Miss)


@check
def low_level_opaque_comes_back(c):
    k = Key(key())
    c.meta_set(k, "a", RequestFlags(cache_ttl=LONG))
    got = c.meta_get(k, RequestFlags(return_value=True, opaque=b"token-17"))
    equal(got.flags.opaque, b"token-17")


@check
def low_level_answers_have_their_types(c):
    k = Key(key())
    assert isinstance(c.meta_set(k, "a", RequestFlags(cache_ttl=LONG)), Success)
    assert isinstance(c.meta_set(k, "a", RequestFlags(mode=SetMode.ADD.value)), NotStored)
    assert isinstance(c.meta_delete(k, RequestFlags()), Success)
    assert isinstance(c.meta_delete(k, RequestFlags()), Miss)


@check
def binary_keys_are_sent_in_base64(c):
    k = Key("schlüssel 鍵 mit blanks")
    equal(c.set(k, "a", ttl=LONG), True)
    equal(c.get(k), "a")
    equal(c.delete(k), True)
    equal(c.get(k), None)


@check
def long_keys(c):
    k = "l" * 240
    equal(c.set(k, "a", ttl=LONG), True)
    equal(c.get(k), "a")
    equal(c.delete(k), True)


@check
def no_reply_keeps_the_order(c):
    k = key()
    for n in range(300):
        c.set(k, str(n), ttl=LONG, no_reply=True)
    equal(c.get(k), "299")
    c.touch(k, LONG, no_reply=True)
    c.delete(k, no_reply=True)
    c.delete(k, no_reply=True)
    equal(c.get(k), None)
    c.set(k, 1, ttl=LONG, no_reply=True)
    c.delta(k, 5, no_reply=True)
    equal(c.get(k), 6)


@check
def binary_and_large_values(c):
    k, chance = key(), random.Random(1)
    for value in (bytes(range(256)) * 8, b"\r\nEN\r\nHD\r\n", chance.randbytes(65_537), chance.randbytes(1_000_000)):
        c.set(k, value, ttl=LONG)
        equal(c.get(k), value)


@check
def large_multi_set(c):
    chance = random.Random(2)
    values = {Key(key()): chance.randbytes(20_000) for _ in range(300)}
    for k, value in values.items():
        c.set(k, value, ttl=LONG, no_reply=True)
    equal(c.multi_get(list(values)), values)


@check
def too_large_is_refused_and_the_connection_goes_on(c):
    k, big = key(), random.Random(3).randbytes(2**21)
    c.set(k, "old", ttl=LONG)
    raises(MemcacheError, c.set, k, big, ttl=LONG)
    equal(c.get(k), None)
    equal(c.set(k, "new", ttl=LONG), True)
    equal(c.get(k), "new")


@check
def immortal_items_have_no_time_left(c):
    k = Key(key())
    c.set(k, "a", ttl=IMMORTAL)
    equal(c.meta_get(k, RequestFlags(return_ttl=True)).flags.ttl, -1)


main(connect)
