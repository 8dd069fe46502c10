"""The cas number: new on every change, never used twice, the key to lock-free updates."""

import threading


def test_cas_number_is_new_on_every_change(bench):
    key, seen = bench.key(), []
    changes = [
        b"set %s 0 0 1\r\n1\r\n",
        b"set %s 0 0 1\r\n1\r\n",
        b"replace %s 0 0 1\r\n1\r\n",
        b"append %s 0 0 1\r\n1\r\n",
        b"prepend %s 0 0 1\r\n1\r\n",
        b"incr %s 1\r\n",
        b"incr %s 0\r\n",
        b"decr %s 1\r\n",
        b"ms %s 1\r\n1\r\n",
        b"ma %s\r\n",
        b"md %s I\r\n",
    ]
    with bench.connect() as wire:
        for change in changes:
            wire.send(change % key)
            wire.line()
            seen.append(wire.gets(key)[2])
    for change, before, after in zip(changes[1:], seen, seen[1:]):
        assert before != after, f"the cas number stayed {before} after {change!r}"
    assert len(set(seen)) == len(seen), f"a cas number came twice: {seen}"


def test_cas_number_is_never_used_again_after_delete_and_set(bench):
    key, seen = bench.key(), []
    with bench.connect() as wire:
        for _ in range(200):
            wire.set(key, b"same")
            seen.append(wire.gets(key)[2])
            wire.send(b"delete %s\r\n" % key)
            wire.expect(b"DELETED\r\n")
        wire.set(key, b"last")
        for old in seen:
            wire.send(b"cas %s 0 0 1 %d\r\nx\r\n" % (key, old))
            wire.expect(b"EXISTS\r\n")
    assert len(set(seen)) == len(seen), "a cas number came twice"


def test_cas_number_differs_between_keys(bench):
    keys = [bench.key() for _ in range(300)]
    with bench.connect() as wire:
        for key in keys:
            wire.set(key, b"a")
        numbers = [wire.gets(key)[2] for key in keys]
    assert len(set(numbers)) == len(numbers), "two keys had the same cas number"


def test_cas_number_is_a_64_bit_decimal_above_zero(bench):
    key = bench.key()
    with bench.connect() as wire:
        wire.set(key, b"a")
        assert 0 < wire.gets(key)[2] < 2**64


def together(workers):
    """Runs the functions at once and raises what one of them raised."""
    problems = []

    def guarded(work):
        try:
            work()
        except Exception as problem:  # handed to the test's own thread
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def test_concurrent_cas_loops_lose_no_update(bench):
    key = bench.key()

    def hundred():
        with bench.connect() as wire:
            done = 0
            while done < 100:
                _, value, unique = wire.gets(key)
                new = b"%d" % (int(value) + 1)
                wire.send(b"cas %s 0 0 %d %d\r\n%s\r\n" % (key, len(new), unique, new))
                answer = wire.line()
                assert answer in (b"STORED", b"EXISTS"), answer
                done += answer == b"STORED"

    with bench.connect() as wire:
        wire.set(key, b"0")
        together([hundred] * 4)
        assert wire.value(key) == (0, b"400")


def test_concurrent_incr_loses_no_count(bench):
    key = bench.key()

    def thousand():
        with bench.connect() as wire:
            wire.send(b"incr %s 1 noreply\r\n" % key * 1000)
            wire.fence()

    with bench.connect() as wire:
        wire.set(key, b"0")
        together([thousand] * 4)
        assert wire.value(key) == (0, b"4000")


def test_concurrent_add_stores_once(bench):
    key, answers = bench.key(), []

    def add():
        with bench.connect() as wire:
            wire.send(b"add %s 0 0 1\r\na\r\n" % key)
            answers.append(wire.line())

    together([add] * 16)
    assert sorted(answers) == [b"NOT_STORED"] * 15 + [b"STORED"], answers


def test_concurrent_vivify_has_one_winner(bench):
    key, answers = bench.key(), []

    def want():
        with bench.connect() as wire:
            wire.send(b"mg %s N60\r\n" % key)
            answers.append(wire.line())

    together([want] * 16)
    assert sorted(answers) == [b"HD W"] + [b"HD Z"] * 15, answers
