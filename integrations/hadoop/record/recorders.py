"""Recorders of the machines of a cluster: one `fawn gordon record` for each, in the machine's network namespace."""

import os
import signal
import subprocess
import time

TRACEFS = "/sys/kernel/tracing"
BEGIN_SECONDS = 20
COLUMNS = {
    "cpu_seconds": "cpu_seconds", "disk_read_bytes": "read_bytes", "disk_write_bytes": "write_bytes",
    "network_out_bytes": "sent_bytes", "disk_reads": "reads", "disk_writes": "writes",
}


class RecorderError(Exception):
    """A machine cannot be recorded; the message says why and what to do."""


def mount_tracefs():
    """Mounts what requests are traced by, if it is not there; whether it did."""
    if os.path.isdir(os.path.join(TRACEFS, "instances")):
        return False
    done = subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RecorderError(f"requests cannot be traced: {done.stderr.strip()}; leave them out with --no-requests")
    return True


def unmount_tracefs():
    subprocess.run(["umount", TRACEFS], capture_output=True, check=False)


class Recorders:
    """Recorders that run at the same time."""

    def __init__(self, fawn):
        self.fawn = fawn
        self.running = []

    def start(self, machine, device, recording, requests=None):
        """Begins to record a machine. `ip netns exec` would hide control groups and tracefs behind a /sys of its own."""
        command = ["nsenter", f"--net=/var/run/netns/{machine.namespace}", self.fawn, "gordon", "record", recording, "--cgroup",
                   machine.group, "--device", device, "--interface", "eth0", "--name", machine.name, "--json"]
        command += ["--requests", requests] if requests else []
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        self.running.append((machine, process, recording))

    def wait(self):
        """Waits until all record."""
        end = time.monotonic() + BEGIN_SECONDS
        for machine, process, recording in self.running:
            while not (os.path.exists(recording) and os.path.getsize(recording)):
                if process.poll() is not None:
                    raise RecorderError(f"the recorder of {machine.name} has ended: {process.stdout.read().strip()}")
                if time.monotonic() > end:
                    raise RecorderError(f"the recorder of {machine.name} has not begun after {BEGIN_SECONDS} s")
                time.sleep(0.02)

    def stop(self):
        """Ends all; returns for each machine that ended well the summary that its recorder prints."""
        for _, process, _ in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        printed = {}
        for machine, process, _ in self.running:
            text = process.communicate()[0]
            if process.returncode == 0:
                printed[machine.name] = text
        self.running = []
        return printed


def sums(recordings):
    """Sums of all columns over the machines, and the source of each column; a column that one lacks is absent."""
    totals, sources = {}, {}
    seconds = 0
    lacking = set()
    for path in recordings:
        with open(path, encoding="utf-8") as file:
            head, _, lines = file.read().partition("\nsamples\n")
        measured = []
        for line in head.splitlines():
            if line.startswith("column "):
                _, name, source = line.split(" ", 2)
                if source.startswith("from "):
                    measured.append(name)
                    sources.setdefault(name, []).append(source.removeprefix("from "))
                else:
                    lacking.add(name)
        samples = [line.split(" ") for line in lines.splitlines()]
        seconds = max(seconds, len(samples))
        for at, name in enumerate(measured, 1):
            totals[name] = totals.get(name, 0.0) + sum(float(sample[at]) for sample in samples if sample[at] != "-")
    found = {key: totals[name] for name, key in COLUMNS.items() if name in totals and name not in lacking}
    return found, {name: sources[name][0] for name in sources if name not in lacking} | dict.fromkeys(lacking, None), seconds
