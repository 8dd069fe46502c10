"""redis-cli and redis-benchmark, as people call them.

    tools.py redis-cli|redis-benchmark api|session|restart HOST PORT
"""

import os
import re
import subprocess
import sys
import uuid

TOOL, MODE, HOST, PORT = sys.argv[1:5]
RUN = uuid.uuid4().hex
CHECKS = []


def connection():
    """The options by which both tools connect as this server wants it."""
    words = ["-h", "localhost" if os.environ.get("CA_FILE") else HOST, "-p", PORT]
    if os.environ.get("CA_FILE"):
        words += ["--tls", "--cacert", os.environ["CA_FILE"]]
    if os.environ.get("USERNAME"):
        words += ["--user", os.environ["USERNAME"]]
    if os.environ.get("PASSWORD"):
        words += ["-a", os.environ["PASSWORD"]]
    return words


def call(tool, *words, given=None):
    """What the tool prints."""
    argv = [tool, *connection(), *map(str, words)]
    given = given if given is None or isinstance(given, bytes) else given.encode()
    done = subprocess.run(argv, input=given, stdin=None if given is not None else subprocess.DEVNULL, capture_output=True, timeout=100, check=False)
    return (done.stdout + (b"" if done.returncode == 0 else done.stderr)).decode("utf-8", "replace")


def cli(*words, **options):
    return call("redis-cli", *words, **options)


def check(tool, name, mode="api"):
    def register(function):
        if (tool, mode) == (TOOL, MODE):
            CHECKS.append((name, function))
        return function

    return register


def equal(got, expected):
    if got != expected:
        raise AssertionError(f"expected {expected!r:.200}, got {got!r:.400}")


def holds(part, text):
    if part not in text:
        raise AssertionError(f"no {part!r} in {text[-400:]!r}")


@check("redis-cli", "SET and the other commands of strings")
def strings():
    k = f"{RUN}:s"
    equal(cli("set", k, "10", "EX", "100"), "OK\n")
    equal(cli("incrby", k, "5"), "15\n")
    equal(cli("append", k, "0"), "3\n")
    equal(cli("get", k), "150\n")
    equal(cli("get", k + "x"), "\n")
    equal(cli("--no-raw", "get", k + "x"), "(nil)\n")
    equal(cli("--json", "mget", k, k + "x"), '["150",null]\n')
    equal(cli("-x", "set", k, given=b"\x00\xff binary"), "OK\n")
    equal(cli("--no-raw", "get", k), '"\\x00\\xff binary"\n')


@check("redis-cli", "HSET and the other commands of hashes")
def hashes():
    k = f"{RUN}:h"
    equal(cli("hset", k, "a", "1", "b", "2"), "2\n")
    equal(cli("--no-raw", "-3", "hgetall", k), '1# "a" => "1"\n2# "b" => "2"\n')
    equal(cli("--no-raw", "-2", "hgetall", k), '1) "a"\n2) "1"\n3) "b"\n4) "2"\n')


@check("redis-cli", "SCAN over the keys of a pattern")
def scan():
    for n in range(5):
        cli("set", f"{RUN}:scan:{n}", "a")
    equal(sorted(cli("--scan", "--pattern", f"{RUN}:scan:*").split()), [f"{RUN}:scan:{n}" for n in range(5)])


@check("redis-cli", "pipeline commands from standard input")
def piped():
    equal(cli(given=f"set {RUN}:i 1\nincr {RUN}:i\nget {RUN}:i\n"), "OK\n2\n2\n")


@check("redis-cli", "pipeline mass insertion with --pipe")
def mass():
    lines = b"".join(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\na\r\n" % (len(k), k) for k in (f"{RUN}:m:{n}".encode() for n in range(5000)))
    holds("errors: 0, replies: 5000", cli("--pipe", given=lines))


@check("redis-cli", "MEMORY --bigkeys and --memkeys")
def big_keys():
    cli("set", f"{RUN}:big", "x" * 10_000)
    holds("Biggest string found", cli("--bigkeys"))
    holds("bytes", cli("--memkeys"))


@check("redis-cli", "errors as Redis words them")
def errors():
    cli("set", f"{RUN}:t", "text")
    equal(cli("incr", f"{RUN}:t"), "ERR value is not an integer or out of range\n\n")
    equal(cli("bogus", "a"), "ERR unknown command 'bogus', with args beginning with: 'a' \n\n")
    equal(cli("hget", f"{RUN}:t", "f"), "WRONGTYPE Operation against a key holding the wrong kind of value\n\n")


@check("redis-cli", "INFO with CONFIG, CLIENT and COMMAND")
def service():
    holds("redis_mode:standalone", cli("info", "server"))
    equal(cli("config", "get", "appendonly").split()[0], "appendonly")
    holds("addr=", cli("client", "list"))
    equal(int(cli("command", "count")) > 50, True)
    holds("summary", cli("command", "docs", "get"))
    equal(cli("ping"), "PONG\n")


@check("redis-cli", "MULTI runs a transaction")
def transaction():
    equal(cli(given=f"multi\nset {RUN}:m 1\nexec\n"), "OK\nQUEUED\nOK\n")


def benchmark(*words):
    """The rate of each test that redis-benchmark ran; it ends at an error of the server."""
    output = call("redis-benchmark", *words)
    if "rror" in output:
        raise AssertionError(output[-400:])
    return dict(re.findall(r'^"([^"]+)","([\d.]+)"', output, re.MULTILINE))


@check("redis-benchmark", "SET with GET, INCR, MSET, HSET and PING")
def tests():
    rates = benchmark("--csv", "-n", 3000, "-c", 20, "-t", "ping,set,get,incr,mset,hset")
    equal(sorted(name.split(" ")[0] for name in rates), ["GET", "HSET", "INCR", "MSET", "PING_INLINE", "PING_MBULK", "SET"])
    equal(all(float(rate) > 0 for rate in rates.values()), True)


@check("redis-benchmark", "pipeline of 16 commands and random keys")
def pipelined():
    equal(sorted(benchmark("--csv", "-n", 20000, "-P", 16, "-r", 1000, "-d", 100, "-t", "set,get")), ["GET", "SET"])


@check("redis-benchmark", "large values")
def large():
    equal(sorted(benchmark("--csv", "-n", 200, "-c", 4, "-d", 500_000, "-t", "set,get")), ["GET", "SET"])


@check("redis-benchmark", "HSET as a command of its own")
def own():
    equal(len(benchmark("--csv", "-n", 2000, "-r", 100, "hset", "bench:__rand_int__", "f", "v")), 1)
    equal(cli("type", "bench:000000000001"), "hash\n")


@check("redis-benchmark", "RESP3 and threads")
def threads():
    equal(sorted(benchmark("--csv", "-3", "--threads", 2, "-n", 3000, "-t", "set,get")), ["GET", "SET"])


@check("redis-cli", "connects and works", "session")
def cli_session():
    equal(cli("set", f"{RUN}:k", "a"), "OK\n")
    equal(cli("get", f"{RUN}:k"), "a\n")


@check("redis-cli", "connects but not with a wrong password", "session")
def cli_refused():
    if os.environ.get("PASSWORD"):
        os.environ["PASSWORD"], right = "wrong", os.environ["PASSWORD"]
        try:
            holds("NOAUTH", cli("get", "k"))
        finally:
            os.environ["PASSWORD"] = right


@check("redis-benchmark", "connects and works", "session")
def benchmark_session():
    equal(sorted(benchmark("--csv", "-n", 1000, "-c", 5, "-t", "set,get")), ["GET", "SET"])


@check("redis-cli", "restart values are still there", "restart")
def restarted():
    cli("set", f"{RUN}:k", "a")
    cli("hset", f"{RUN}:h", "f", "v")
    print("restart", flush=True)
    sys.stdin.readline()
    equal(cli("get", f"{RUN}:k"), "a\n")
    equal(cli("hget", f"{RUN}:h", "f"), "v\n")


def main():
    for name, function in CHECKS:
        try:
            function()
            print(f"ok {name}", flush=True)
        except Exception as error:  # each check stands alone
            print(f"not ok {name}: " + f"{type(error).__name__}: {error}".replace("\n", "⏎"), flush=True)
    print("done")


main()
