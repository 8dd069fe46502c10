"""The server under test for everything that speaks Redis's protocol.

Three ways to name it on a command line:

    --fawn BINARY        start `BINARY serve --redis` on free ports with a fresh directory
    --redis-server       start the machine's redis-server (or $REDIS_SERVER), the reference
    --server HOST:PORT   talk to a running server, start nothing

A server that was started can be killed and started again on the same port and data.
"""

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

READY = re.compile(rb"serving redis on (\S+):(\d+)")
BOTH_READY = (re.compile(rb"serving memcached on (\S+):(\d+)"), READY)
START_SECONDS = 30
STOP_SECONDS = 30


class ServerError(Exception):
    """The server could not be reached, started or stopped; the message says what to look at."""


def add_arguments(parser):
    """Adds the three ways to name a server to an `argparse` parser."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fawn", metavar="BINARY", help="start this fawn binary")
    which.add_argument("--redis-server", action="store_true", help="start redis-server ($REDIS_SERVER)")
    which.add_argument("--server", metavar="HOST:PORT", help="a server that runs already")


class Running:
    """A server that somebody else started: it is neither restarted nor given options."""

    def __init__(self, address):
        self.host, _, port = address.rpartition(":")
        if not port.isdigit():
            raise ServerError(f"{address!r} is not HOST:PORT")
        self.host, self.port = self.host.strip("[]") or "127.0.0.1", int(port)
        try:
            socket.create_connection((self.host, self.port), 5).close()
        except OSError as error:
            raise ServerError(f"no answer from {address}: {error}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Started:
    """A server process with a folder of its own, both gone at the end of the context."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fawn-redis-")
        self.host, self.port, self.process, self.argv = "127.0.0.1", 0, None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Stops the process and removes its folder."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                print(f"note: the server still ran {STOP_SECONDS} s after SIGTERM", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def launch(self, **popen):
        with open(self.path("server.log"), "ab") as log:
            try:
                self.process = subprocess.Popen(self.argv, stderr=log, stdin=subprocess.DEVNULL, **popen)
            except OSError as error:
                raise ServerError(f"cannot start {self.argv[0]}: {error}") from error

    def started(self, run):
        """Runs it for the first time; where that fails nothing is left behind."""
        try:
            return run()
        except ServerError:
            self.close()
            raise

    def log_tail(self):
        with open(self.path("server.log"), "rb") as log:
            return log.read()[-2000:].decode("utf-8", "replace")

    def kill(self):
        """Ends the process as a power cut would, without a warning."""
        self.process.kill()
        self.process.wait()


class Fawn(Started):
    """`fawn serve` with clients of Redis on a port of its own."""

    name = "FAWN"

    def __init__(self, binary, options=()):
        super().__init__()
        self.binary, self.options, self.memcached_port = os.path.abspath(binary), list(options), 0

    def start(self, users=(), tls=None):
        """Starts it; `users` are (name, password), `tls` are the files that `certificate` made."""
        if users:
            with open(self.path("users"), "w", encoding="utf-8") as file:
                file.write("".join(f"{user}:{password}\n" for user, password in users))
            self.options += ["--auth-file", self.path("users")]
        if tls:
            self.options += ["--tls-cert", tls[0], "--tls-key", tls[1]]
        return self.started(self.run)

    def run(self):
        self.argv = [self.binary, "serve", "--dir", self.path("data"), *self.options]
        self.argv += ["--listen", f"127.0.0.1:{self.memcached_port}", "--redis", f"127.0.0.1:{self.port}"]
        self.launch(stdout=subprocess.PIPE)
        (_, self.memcached_port), (self.host, self.port) = self.ready_lines()
        return self

    def restart(self):
        """Starts the killed process again."""
        self.process.stdout.close()
        return self.run()

    def ready_lines(self):
        """Reads standard output until the server says where it listens."""
        seen, deadline = b"", time.monotonic() + START_SECONDS
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                if not waiting.select(0.5):
                    continue
                block = os.read(self.process.stdout.fileno(), 4096)
                seen += block
                found = [line.search(seen) for line in BOTH_READY]
                if all(found) and seen.endswith(b"\n"):
                    return [(line[1].decode().strip("[]"), int(line[2])) for line in found]
                if not block:
                    break
        self.kill()
        raise ServerError(f"no `serving redis on` line from fawn; it said:\n{self.log_tail()}")


class RedisServer(Started):
    """The reference. It logs every write before it answers, so that a kill of the process loses nothing."""

    name = "redis-server"

    def __init__(self):
        super().__init__()
        self.binary = os.environ.get("REDIS_SERVER") or shutil.which("redis-server")
        if not self.binary:
            raise ServerError("no redis-server here: apt-get install redis-server, or set $REDIS_SERVER to one")

    def start(self, users=(), tls=None):
        self.port = free_port()
        lines = [f"dir {self.folder}", "bind 127.0.0.1", 'save ""', "appendonly yes", "appendfsync no"]
        if tls:
            lines += ["port 0", f"tls-port {self.port}", f"tls-cert-file {tls[0]}", f"tls-key-file {tls[1]}"]
            lines += [f"tls-ca-cert-file {tls[2]}", "tls-auth-clients no"]
        else:
            lines.append(f"port {self.port}")
        lines += [f"user {user} on >{password} ~* &* +@all" for user, password in users]
        with open(self.path("redis.conf"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.argv = [self.binary, self.path("redis.conf")]
        return self.started(self.restart)

    def restart(self):
        self.launch(stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerError(f"redis-server ended at start:\n{self.log_tail()}")
            try:
                socket.create_connection((self.host, self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise ServerError(f"redis-server did not accept a connection in {START_SECONDS} s")


def free_port():
    """A TCP port of the loopback address that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificate(folder):
    """Makes a certificate for localhost; the files of it, of its key, and of the authority that signed it."""
    names = [os.path.join(folder, name) for name in ("certificate.pem", "key.pem", "authority.pem", "authority-key.pem")]
    own, own_key, authority, authority_key = names
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    make = [
        [*new, "-subj", "/CN=test authority", "-out", authority, "-keyout", authority_key],
        [*new, "-subj", "/CN=localhost", "-out", own, "-keyout", own_key, "-CA", authority, "-CAkey", authority_key,
         "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
    ]  # fmt: skip
    try:
        for argv in make:
            subprocess.run(argv, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ServerError(f"no certificate could be made; is openssl 3 installed? {error}") from error
    return own, own_key, authority


def fail(message):
    """Prints the message as an error and ends with the code of a run that could not happen."""
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(2)
