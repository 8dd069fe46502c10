"""The server under test: one that runs already, or one started for the run.

Three ways to name it on a command line, the same for every suite:

    --server HOST:PORT   talk to a running server, start nothing
    --fawn BINARY        start `BINARY serve` on a free port with a fresh directory
    --memcached          start the machine's memcached (or $MEMCACHED) on a free port

A server answers in a *flavour*. The suites expect the answers of the protocol description that
the project follows; the two memcached releases that the suites were proved against differ from it
in places, and each such place names the flavour it belongs to.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# What a server of its own can be started with, in each program's words. `{}` is the value.
FAWN_OPTIONS = {
    "auth_file": ["--auth-file", "{}"],
    "unix": ["--unix", "{}"],
    "unix_mode": ["--unix-mode", "{}"],
    "tls_cert": ["--tls-cert", "{}"],
    "tls_key": ["--tls-key", "{}"],
    "max_connections": ["--max-connections", "{}"],
    "idle_seconds": ["--idle-timeout", "{}s"],
    "max_item_mib": ["--max-item-size", "{}M"],
    "no_flush": ["--no-flush"],
    "threads": ["--threads", "{}"],
    "nodes": ["--nodes", "{}"],
    "replicas": ["--replicas", "{}"],
    "manager": ["--manager-address", "{}"],
}
MEMCACHED_OPTIONS = {
    "auth_file": ["-Y", "{}"],
    "unix": ["-s", "{}"],
    "unix_mode": ["-a", "{}"],
    "tls_cert": ["-Z", "-o", "ssl_chain_cert={}"],
    "tls_key": ["-o", "ssl_key={}"],
    "max_connections": ["-c", "{}"],
    "idle_seconds": ["-o", "idle_timeout={}"],
    "max_item_mib": ["-m", "1024", "-I", "{}m"],
    "no_flush": ["-F"],
    "threads": ["-t", "{}"],
}

READY = re.compile(rb"serving memcached on (\S+):(\d+)")
START_SECONDS = 20
STOP_SECONDS = 20


class ServerError(Exception):
    """The server could not be reached, started or stopped; the message says what to look at."""


def add_arguments(parser):
    """Adds the three ways to name a server to an `argparse` parser."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--server", metavar="HOST:PORT", help="a server that runs already")
    which.add_argument("--fawn", metavar="BINARY", help="start this fawn binary")
    which.add_argument("--memcached", action="store_true", help="start memcached ($MEMCACHED)")


def from_arguments(args):
    """The server that the parsed arguments name, started if need be. Use it as a context."""
    if args.server:
        host, _, port = args.server.rpartition(":")
        if not port.isdigit():
            raise ServerError(f"{args.server!r} is not HOST:PORT")
        return Running(host.strip("[]") or "127.0.0.1", int(port))
    if args.fawn:
        return Fawn(args.fawn).start()
    return Memcached().start()


class Running:
    """A server somebody else started. Restarting it or giving it options is not possible."""

    kind = "running"

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.flavour = flavour_of(host, port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Leaves the server alone."""

    def another(self, **_):
        """A further server of the same kind with other options; `None` where there is none."""
        return None


class Started(Running):
    """A server that this process started and stops."""

    def __init__(self):
        self.process = None
        self.folder = tempfile.mkdtemp(prefix="fawn-suite-")
        self.host, self.port, self.flavour = "127.0.0.1", 0, "target"

    def launch(self, argv, **popen):
        self.log = open(os.path.join(self.folder, "server.log"), "ab")
        try:
            self.process = subprocess.Popen(argv, stderr=self.log, stdin=subprocess.DEVNULL, **popen)
        except OSError as error:
            raise ServerError(f"cannot start {argv[0]}: {error}") from error

    def log_tail(self):
        with open(os.path.join(self.folder, "server.log"), "rb") as log:
            return log.read()[-2000:].decode("utf-8", "replace")

    def wait_until_it_answers(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerError(f"the server ended at start:\n{self.log_tail()}")
            try:
                socket.create_connection((self.host, self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise ServerError(f"the server did not accept a connection in {START_SECONDS} s")

    def kill(self):
        """Ends the process as a power cut would: no warning."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Asks the process to end and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise ServerError(f"the server still ran {STOP_SECONDS} s after SIGTERM") from late

    def close(self):
        if self.process and self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Fawn(Started):
    """`fawn serve` on a free port, its data in a folder of its own."""

    kind = "fawn"

    def __init__(self, binary, options=()):
        super().__init__()
        self.binary, self.options = os.path.abspath(binary), list(options)

    def start(self):
        argv = [self.binary, "serve", "--dir", os.path.join(self.folder, "data")]
        argv += ["--listen", "127.0.0.1:0", *self.options]
        self.launch(argv, stdout=subprocess.PIPE)
        self.host, self.port = self.ready_line()
        return self

    def ready_line(self):
        """Reads standard output until the server says where it listens."""
        seen, deadline = b"", time.monotonic() + START_SECONDS
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                if not waiting.select(0.5):
                    continue
                block = os.read(self.process.stdout.fileno(), 4096)
                seen += block
                found = READY.search(seen)
                if found and seen.endswith(b"\n"):
                    return found[1].decode().strip("[]"), int(found[2])
                if not block:
                    break
        tail = self.log_tail()
        self.kill()
        raise ServerError(f"no `serving memcached on` line from fawn; it said:\n{tail}")

    def restart(self):
        """Starts the stopped or killed process again on the same data."""
        return self.start()

    def another(self, **options):
        return Fawn(self.binary, spell(FAWN_OPTIONS, options)).start()


class Memcached(Started):
    """The reference server. It listens on a free port and keeps nothing."""

    kind = "memcached"

    def __init__(self, options=(), unix=None):
        super().__init__()
        self.binary = os.environ.get("MEMCACHED") or shutil.which("memcached")
        # With a Unix socket, memcached listens nowhere else.
        self.options, self.unix = list(options), unix
        if not self.binary:
            raise ServerError("no memcached here: install it, or set $MEMCACHED to one")

    def start(self):
        argv = [self.binary, "-U", "0", *self.options]
        if os.geteuid() == 0:
            argv += ["-u", "root"]
        if self.unix:
            self.launch(argv, stdout=subprocess.DEVNULL)
            wait_for_file(self.unix)
            return self
        self.port = free_port()
        self.launch([*argv, "-l", self.host, "-p", str(self.port)], stdout=subprocess.DEVNULL)
        self.wait_until_it_answers()
        if not self.options:
            self.flavour = flavour_of(self.host, self.port)
        return self

    def has_tls(self):
        """Whether this build of memcached speaks TLS."""
        said = subprocess.run([self.binary, "-h"], capture_output=True, text=True, check=False)
        return "--enable-ssl" in said.stdout

    def another(self, **options):
        return Memcached(spell(MEMCACHED_OPTIONS, options), options.get("unix")).start()


def spell(table, options):
    """Options in a program's own words."""
    words = []
    for name, value in options.items():
        words += [word.format(value) for word in table[name]]
    return words


def wait_for_file(path):
    deadline = time.monotonic() + START_SECONDS
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise ServerError(f"the server made no {path}")
        time.sleep(0.02)


def free_port():
    """A TCP port of the loopback address that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def flavour_of(host, port):
    """`1.6.18` and the like for a real memcached, which alone names its libevent; else `target`."""
    try:
        with socket.create_connection((host, port), 5) as talk:
            talk.settimeout(5)
            talk.sendall(b"stats\r\n")
            seen = b""
            while not seen.endswith(b"END\r\n"):
                block = talk.recv(65536)
                if not block:
                    break
                seen += block
    except OSError as error:
        raise ServerError(f"no answer from {host}:{port}: {error}") from error
    version = re.search(rb"STAT version (\S+)", seen)
    return version[1].decode() if version and b"STAT libevent" in seen else "target"


def fail(message):
    """Prints the message as an error and ends with the code of a run that could not happen."""
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(2)
