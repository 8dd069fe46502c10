"""A few lines that all Python clients share: named checks and a closing mark."""

import sys
import traceback
import uuid

RUN = uuid.uuid4().hex[:8]
CHECKS = []


def check(function):
    """Registers a check; its name is its sentence."""
    CHECKS.append(function)
    return function


def key(name="k"):
    """A key that no other check uses."""
    return f"py-{RUN}-{uuid.uuid4().hex[:6]}-{name}"


def raises(kind, action, *args, **options):
    """The exception of `kind` that the action must raise."""
    try:
        got = action(*args, **options)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} expected, got {got!r}")


def equal(got, expected):
    """Fails with both values shown, long ones cut."""
    if got != expected:
        raise AssertionError(f"expected {str(repr(expected))[:300]}, got {str(repr(got))[:300]}")


def main(connect):
    """Runs every check with a fresh client made by `connect(host, port)`."""
    host, port = sys.argv[1], int(sys.argv[2])
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        try:
            function(connect(host, port))
            print(f"ok {name}", flush=True)
        except Exception as error:  # each check stands alone
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} (line {where.lineno} of {where.filename.rsplit('/', 1)[-1]})"
            print(f"not ok {name}: " + text.replace("\n", " "), flush=True)
    print("done")
