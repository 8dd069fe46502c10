"""What needs a server of its own: authentication, the Unix socket, a restart."""

import os
import time

from harness.runner import Skip
from harness.wire import Wire


def another(bench, **options):
    server = bench.server.another(**options)
    if server is None:
        raise Skip("needs a server started by the suite (--fawn or --memcached)")
    return server


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o600)
    return path


def test_authentication_file_keeps_strangers_out(bench):
    if bench.server.kind == "running":
        raise Skip("needs a server started by the suite (--fawn or --memcached)")
    users = write(bench.server.folder, "users", "lenny:secret\nada:other:pass\n")
    with another(bench, auth_file=users) as server:
        address = (server.host, server.port)
        with Wire(address) as wire:
            wire.send(b"get a\r\n")
            wire.expect(b"CLIENT_ERROR unauthenticated\r\n")
        with Wire(address) as wire:
            wire.send(b"set x 0 0 12\r\nlenny wrong!\r\n")
            wire.expect(b"CLIENT_ERROR authentication failure\r\n")
            wire.send(b"set x 0 0 12\r\nlenny secret\r\n")
            wire.expect(b"STORED\r\n")
            wire.ask(b"get x\r\n", b"END\r\n")
            wire.set(b"a", b"b")
            assert wire.value(b"a") == (0, b"b")
        with Wire(address) as wire:
            wire.send(b"set x 0 0 14\r\nada other:pass\r\n")
            wire.expect(b"STORED\r\n")
            assert wire.value(b"a") == (0, b"b")


def test_unix_socket_serves_the_same_protocol(bench):
    if bench.server.kind == "running":
        raise Skip("needs a server started by the suite (--fawn or --memcached)")
    path = os.path.join(bench.server.folder, "socket")
    with another(bench, unix=path):
        with Wire(path) as wire:
            wire.set(b"a", b"b", flags=3)
            assert wire.value(b"a") == (3, b"b")
            wire.fence()


def restartable(bench):
    if bench.server.kind != "fawn":
        raise Skip("needs a server that keeps its data (--fawn)")
    return another(bench)


def fill(server):
    """Stores items of every kind; returns the largest cas number."""
    with Wire((server.host, server.port)) as wire:
        wire.set(b"plain", b"value\r\n\0", flags=2**32 - 1)
        wire.set(b"empty", b"", flags=1)
        wire.set(b"timed", b"t", exptime=1000)
        wire.set(b"short", b"s", exptime=1)
        wire.set(b"large", b"x" * 1_000_000)
        wire.set(b"gone", b"g")
        wire.ask(b"delete gone\r\n", b"DELETED\r\n")
        wire.set(b"count", b"41")
        wire.ask(b"incr count 1\r\n", b"42\r\n")
        for n in range(2000):
            wire.send(b"set k%d 0 0 4 noreply\r\n%04d\r\n" % (n, n))
        wire.fence()
        wire.set(b"newest", b"n")
        return wire.gets(b"newest")[2]


def check(server, newest):
    with Wire((server.host, server.port)) as wire:
        assert wire.value(b"plain") == (2**32 - 1, b"value\r\n\0")
        assert wire.value(b"empty") == (1, b"")
        assert wire.value(b"large") == (0, b"x" * 1_000_000)
        assert wire.value(b"count") == (0, b"42")
        assert wire.value(b"gone") is None, "a deleted key is back"
        assert wire.value(b"short") is None, "an expired key is back"
        wire.send(b"mg timed t\r\n")
        left = wire.line()
        assert left.startswith(b"HD t9"), f"expected about 990 seconds left: {left!r}"
        for n in range(2000):
            assert wire.value(b"k%d" % n) == (0, b"%04d" % n), n
        assert wire.gets(b"newest")[2] == newest, "the cas number changed over the restart"
        wire.set(b"after", b"a")
        assert wire.gets(b"after")[2] > newest, "a cas number could come twice"


def test_restart_keeps_values_flags_expiry_and_cas(bench):
    with restartable(bench) as server:
        newest = fill(server)
        time.sleep(2.1)
        code = server.stop()
        assert code == 0, f"exit code {code} after SIGTERM\n{server.log_tail()}"
        server.restart()
        check(server, newest)


def test_kill_loses_nothing_that_was_acknowledged(bench):
    with restartable(bench) as server:
        newest = fill(server)
        time.sleep(2.1)
        server.kill()
        server.restart()
        check(server, newest)
