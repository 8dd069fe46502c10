"""Processes that a sequence starts: all of them end with it, whatever ends it."""

import ctypes
import signal
import subprocess
import threading

PR_SET_PDEATHSIG = 1
END_SECONDS = 10


class Stopped(Exception):
    """Another part of the sequence has failed, or its user has ended it."""


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Children:
    """The processes of a sequence, and whether it is to end."""

    def __init__(self):
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.running = set()

    def check(self):
        if self.stop.is_set():
            raise Stopped

    def start(self, command, **options):
        with self.lock:
            self.check()
            process = subprocess.Popen(command, preexec_fn=die_with_parent, **options)
            self.running.add(process)
            return process

    def wait(self, process):
        code = process.wait()
        with self.lock:
            self.running.discard(process)
        self.check()
        return code

    def end(self):
        with self.lock:
            self.stop.set()
            left = list(self.running)
        for process in left:
            process.terminate()
        for process in left:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
