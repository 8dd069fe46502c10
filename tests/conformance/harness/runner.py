"""Collects tests, runs them, prints a line for each failure and a closing count."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Callable

from . import script
from .wire import Wire

WORKERS = 6


class Skip(Exception):
    """Raised by a test that does not apply here; the message says why."""


@dataclass
class Test:
    """One test: a sentence and what to do."""

    name: str
    action: Callable
    alone: bool = False


def alone(function):
    """Marks a test that disturbs every other one, as `flush_all` does; such run one at a time."""
    function.alone = True
    return function


class Bench:
    """What a test gets: the server, connections to it, keys that nobody else uses."""

    def __init__(self, server):
        self.server = server

    @property
    def flavour(self):
        return self.server.flavour

    @property
    def is_memcached(self):
        return self.server.flavour != "target"

    @property
    def address(self):
        return (self.server.host, self.server.port)

    def connect(self, **options):
        """A new connection."""
        return Wire(self.address, **options)

    def key(self, name="k"):
        """A key of at most 40 bytes that no other test has."""
        return f"{name}-{script.RUN}-{next(script.COUNTER)}".encode()


def collect(folder, cases):
    """The tests of a folder of scripts and of modules whose functions start with `test_`."""
    tests = []
    for talk in script.load(folder):
        def act(bench, talk=talk):
            script.play(bench.address, bench.flavour, talk)

        tests.append(Test(f"{os.path.splitext(talk.where.split(':')[0])[0]}: {talk.name}", act))
    for module in cases:
        for name, function in vars(module).items():
            if name.startswith("test_"):
                label = module.__name__.rsplit(".", 1)[-1]
                sentence = name.removeprefix("test_").replace("_", " ")
                tests.append(
                    Test(f"{label}: {sentence}", function, getattr(function, "alone", False))
                )
    return tests


def attempt(test, bench):
    """`(outcome, text)` of one test."""
    try:
        test.action(bench)
        return "passed", ""
    except Skip as reason:
        return "skipped", str(reason)
    except AssertionError as wrong:
        return "failed", str(wrong) or traceback.format_exc(limit=-2)
    except Exception:  # a broken connection or a wrong answer that a test did not foresee
        return "failed", traceback.format_exc(limit=-4)


def run(tests, bench, verbose=False):
    """Runs the tests, the undisturbing ones side by side; returns the exit code."""
    started, counts = time.monotonic(), {"passed": 0, "failed": 0, "skipped": 0}

    def report(test, outcome, text):
        counts[outcome] += 1
        if outcome != "passed" or verbose:
            print(f"{outcome:8}{test.name}" + (f"\n{indent(text)}" if text else ""), flush=True)

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        crowd = {pool.submit(attempt, test, bench): test for test in tests if not test.alone}
        for done in concurrent.futures.as_completed(crowd):
            report(crowd[done], *done.result())
    for test in tests:
        if test.alone:
            report(test, *attempt(test, bench))
    print(f"against {bench.flavour} in {time.monotonic() - started:.0f} s", file=sys.stderr)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


def indent(text):
    return "\n".join("    " + line for line in text.splitlines())
