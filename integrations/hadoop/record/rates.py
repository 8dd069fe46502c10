"""What a machine of the cluster can do: rates of its disk, its share of the processors, and its network, as a file of nodes."""

import mmap
import os
import random
import shutil
import subprocess
import threading
import time

LARGE = 1 << 20
SMALL = 4096
FILE_BYTES = 128 << 20
SMALL_ACCESSES = 400
NODE = """title = "a machine of this cluster"

[[nodes]]
name = "{name}"
processors = 1
hz = {hz:.4g}
network_bytes_per_second = {network:.4g}
notes = [
  "rates were measured on {nodes} machines at a time; watts and prices were not measured: 0 stands for unknown, so energies mean nothing",
  "the processor is {cpus} of one {processor}, by the rating of 7-Zip; memory limits nothing, its rate is a guess",
]
[nodes.processor]
name = "{cpus} x {processor}"
instructions_per_cycle = 1.5
rated_hz = {hz:.4g}
watts = {{ idle = 0, active = 0 }}
[nodes.memory]
watts = {{ idle = 0, active = 0 }}
bytes_per_second = 1e10
[nodes.storage]
name = "loop device"
devices = 1
read = {{ bytes_per_second = {read[0]:.4g}, seconds_per_access = {read[1]:.4g} }}
write = {{ bytes_per_second = {write[0]:.4g}, seconds_per_access = {write[1]:.4g} }}
watts = {{ idle = 0, read = 0, write = 0 }}
"""


class RateError(Exception):
    """A rate cannot be measured; the message says why and what to do."""


def seconds_of(path, flags, access, size, count, is_random):
    """Seconds of so many accesses around the page cache, one at a time."""
    buffer = mmap.mmap(-1, size)
    buffer.write(os.urandom(min(size, LARGE)))
    places = FILE_BYTES // size
    order = random.Random(1).choices(range(places), k=count) if is_random else range(count)
    descriptor = os.open(path, flags | os.O_DIRECT | os.O_CREAT, 0o600)
    try:
        began = time.monotonic()
        for place in order:
            access(descriptor, [buffer], place * size)
        if flags & os.O_WRONLY:
            os.fdatasync(descriptor)
        return time.monotonic() - began
    finally:
        os.close(descriptor)


def disk(folder):
    """Bytes a second of large accesses in order, and what a small one at random takes beyond its bytes: reading, writing."""
    path = os.path.join(folder, "rates")
    try:
        rates = {}
        for name, flags, access in (("write", os.O_WRONLY, os.pwritev), ("read", os.O_RDONLY, os.preadv)):
            count = FILE_BYTES // LARGE
            speed = FILE_BYTES / seconds_of(path, flags, access, LARGE, count, False)
            small = seconds_of(path, flags, access, SMALL, SMALL_ACCESSES, True) / SMALL_ACCESSES
            rates[name] = (speed, max(0.0, small - SMALL / speed))
        return rates
    except OSError as error:
        raise RateError(f"the disk of {folder} cannot be rated: {error}; give the machines more with --disk") from None
    finally:
        if os.path.exists(path):
            os.remove(path)


def disks(folders):
    """The mean rates of disks that all work at the same time."""
    found, failed = [], []

    def rate(folder):
        try:
            found.append(disk(folder))
        except RateError as error:
            failed.append(error)

    threads = [threading.Thread(target=rate, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return {name: [sum(each[name][at] for each in found) / len(found) for at in (0, 1)] for name in ("read", "write")}


def processor_mips():
    """The rating of one processor by 7-Zip."""
    program = next(filter(None, map(shutil.which, ("7zz", "7z"))), None)
    if program is None:
        raise RateError("7-Zip is needed to rate the processors: apt-get install 7zip, or give --cpu-mips")
    done = subprocess.run([program, "b"], capture_output=True, text=True, check=False)
    totals = [line.split() for line in done.stdout.splitlines() if line.startswith("Tot:")]
    if done.returncode or not totals:
        raise RateError(f"`{program} b` prints no total: give --cpu-mips")
    # Its second number is the rating of one processor that is used fully, whatever else the machine does.
    return int(totals[0][2])


def node_file(name, rates, cpus, cpu_mips, network_mbit, nodes, processor):
    """A file of designs for `fawn gordon cluster --design`."""
    return NODE.format(name=name, hz=cpu_mips * 1e6 * cpus, network=network_mbit * 1e6 / 8, read=rates["read"],
                       write=rates["write"], cpus=cpus, nodes=nodes, processor=processor)
