"""What needs a server of its own: authentication, other transports, limits, a restart."""

import os
import shutil
import ssl
import stat
import subprocess
import time

from harness.runner import Skip
from harness.wire import Wire


def another(bench, **options):
    """A further server with these options, as a context."""
    if bench.server.kind == "running":
        raise Skip("needs a server started by the suite (--fawn or --memcached)")
    return bench.server.another(**options)


def folder(bench):
    """A place for files; the server's own."""
    if bench.server.kind == "running":
        raise Skip("needs a server started by the suite (--fawn or --memcached)")
    return bench.server.folder


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o600)
    return path


def test_authentication_file_keeps_strangers_out(bench):
    users = write(folder(bench), "users", "lenny:secret\nada:other:pass\n")
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
    path = os.path.join(folder(bench), "socket")
    with another(bench, unix=path, unix_mode="0750"):
        with Wire(path) as wire:
            wire.set(b"a", b"b", flags=3)
            assert wire.value(b"a") == (3, b"b")
            wire.ask(b"bogus\r\n", b"ERROR\r\n")
        mode = stat.S_IMODE(os.stat(path).st_mode)
        assert mode == 0o750, f"the socket's mode is {mode:o}"


def certificate(where):
    """Paths of a certificate for localhost and its key."""
    if not shutil.which("openssl"):
        raise Skip("no openssl on this machine to make a certificate with")
    cert, key = os.path.join(where, "cert.pem"), os.path.join(where, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )
    return cert, key


def test_tls_serves_the_same_protocol(bench):
    cert, key = certificate(folder(bench))
    if bench.is_memcached and not bench.server.has_tls():
        raise Skip("this memcached is built without TLS")
    with another(bench, tls_cert=cert, tls_key=key) as server:
        trust = ssl.create_default_context(cafile=cert)
        address, large = (server.host, server.port), os.urandom(900_000)
        for _ in range(3):
            with Wire(address, tls=trust) as wire:
                wire.set(b"a", large, flags=7)
                assert wire.value(b"a") == (7, large)
                wire.send(b"get a\r\nmn\r\n" * 20)
                wire.expect((b"VALUE a 7 %d\r\n%s\r\nEND\r\nMN\r\n" % (len(large), large)) * 20)
                wire.drip(b"set b 0 0 3\r\nabc\r\nget b\r\n")
                wire.expect(b"STORED\r\nVALUE b 0 3\r\nabc\r\nEND\r\n")
        with Wire(address) as plain:
            plain.send(b"version\r\n")
            assert not plain.more() or not plain.buffer.startswith(b"VERSION"), "answered in the clear"


def test_flush_all_can_be_forbidden(bench):
    with another(bench, no_flush="") as server, Wire((server.host, server.port)) as wire:
        wire.set(b"a", b"b")
        wire.ask(b"flush_all\r\n", b"CLIENT_ERROR flush_all not allowed\r\n")
        wire.ask(b"flush_all 10\r\nflush_all noreply\r\n", b"CLIENT_ERROR flush_all not allowed\r\n")
        assert wire.value(b"a") == (0, b"b")


def test_too_many_connections_are_told_so(bench):
    with another(bench, max_connections=100) as server:
        wires = [Wire((server.host, server.port)) for _ in range(140)]
        answered, refused = [], []
        for wire in wires:
            wire.send(b"mn\r\n")
            try:
                line = wire.line()
            except AssertionError:
                line = b""
            (answered if line == b"MN" else refused).append((wire, line))
        # memcached counts its own files too.
        least = 60 if bench.is_memcached else 95
        assert least <= len(answered) <= 105, f"{len(answered)} of 140 were served with a limit of 100"
        for _, line in refused:
            assert line in (b"ERROR Too many open connections", b""), line
        assert any(line for _, line in refused), "nobody was told why"
        for wire in wires:
            wire.socket.close()
        deadline = time.monotonic() + 5
        while True:
            with Wire((server.host, server.port)) as wire:
                wire.send(b"mn\r\n")
                if wire.more() and wire.buffer == b"MN\r\n":
                    break
            assert time.monotonic() < deadline, "still full after everybody left"
            time.sleep(0.05)


def test_idle_connections_are_closed_and_busy_ones_are_not(bench):
    with another(bench, idle_seconds=3) as server:
        address = (server.host, server.port)
        with Wire(address, patience=12) as idle, Wire(address) as busy:
            idle.fence()
            for _ in range(12):
                busy.fence()
                time.sleep(0.5)
            idle.expect_closed()
            busy.fence()


def test_item_limit_can_be_raised(bench):
    with another(bench, max_item_mib=8) as server, Wire((server.host, server.port), patience=20) as wire:
        large = os.urandom(6 << 20)
        wire.set(b"a", large)
        assert wire.value(b"a") == (0, large)
        wire.send(b"set a 0 0 %d\r\n%s\r\n" % (9 << 20, bytes(9 << 20)))
        wire.expect(b"SERVER_ERROR object too large for cache\r\n")
        assert wire.value(b"a") is None


def test_one_thread_and_four_answer_alike(bench):
    for threads in (1, 4):
        with another(bench, threads=threads) as server, Wire((server.host, server.port)) as wire:
            sets = b"".join(b"set k%d 0 0 4\r\n%04d\r\n" % (n, n) for n in range(2000))
            gets = b"get " + b" ".join(b"k%d" % n for n in range(2000)) + b"\r\n"
            answer = b"".join(b"VALUE k%d 0 4\r\n%04d\r\n" % (n, n) for n in range(2000))
            wire.ask(sets + gets, b"STORED\r\n" * 2000 + answer + b"END\r\n")


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
