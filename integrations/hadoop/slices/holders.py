"""The two ways in which a cluster holds a slice: a file of HDFS, or records of FAWN."""

import base64
import json
import os
import re
import subprocess
import tempfile
import time

import counters
import hdfs
import warehouse

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOAD = os.path.join(os.path.dirname(HERE), "workloads", "workload")
MAP_INPUT = re.compile(r"Job: Counters: \d+.*?Map input records=(\d+)", re.DOTALL)
BATCH = 1 << 16
# A range's time may be behind the clock by this.
CLOCK_SECONDS = 2


class HoldError(Exception):
    """A slice cannot be loaded, computed on or removed; the message says why and what to do."""


def cause(printed):
    """Why a job has failed, as far as it says so: lines that name an exception, or its last ones."""
    lines = printed.splitlines()
    named = [line.strip() for line in lines if re.search(r"(Exception|Error)\b.*: ", line)]
    return "\n".join((named or lines)[-3:])


class Link:
    """The way between warehouse and cluster: what went through it, at a limited rate if the user asks for it."""

    def __init__(self, children, rate):
        self.children = children
        self.rate = rate
        self.bytes = 0

    def through(self, blocks):
        begin = time.monotonic()
        here = 0
        for block in blocks:
            self.children.check()
            self.bytes += len(block)
            here += len(block)
            if self.rate:
                wait = begin + here / self.rate - time.monotonic()
                if wait > 0 and self.children.stop.wait(wait):
                    self.children.check()
            yield block


class Cluster:
    """A cluster that runs, as a sequence uses it: jobs on it, and their results in its HDFS."""

    def __init__(self, cluster, sequence, children, settings):
        self.cluster = cluster
        self.place = f"/slices/{sequence}"
        self.tag = f"fawn-slices-{sequence}"
        self.children = children
        self.settings = settings
        self.hdfs = hdfs.Hdfs(cluster)
        self.yarn = hdfs.Yarn(cluster)

    def output(self, number):
        return f"{self.place}/out-{number:04}"

    def run(self, *words):
        """Runs a workload to its end; returns what it prints."""
        settings = {"mapreduce.job.tags": self.tag, "dfs.user.home.dir.prefix": f"{self.place}/home",
                    "yarn.app.mapreduce.am.staging-dir": f"{self.place}/staging", **self.settings}
        command = [WORKLOAD, "--cluster", self.cluster.directory]
        for key, value in settings.items():
            command += ["-D", f"{key}={value}"]
        with tempfile.TemporaryFile() as printed:
            process = self.children.start([*command, *words], stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT)
            code = self.children.wait(process)
            printed.seek(0)
            text = printed.read().decode(errors="replace")
        if code:
            raise HoldError(f"the job {words[0]} ended with {code}; run this again once its cause is gone:\n{cause(text)}")
        return text

    def compute(self, number, job, source, flags, lines):
        """Runs a job on a slice, which has so many lines."""
        printed = self.run(job.name, "--from", source, "--to", f"hdfs:{self.output(number)}", *flags)
        found = MAP_INPUT.search(printed)
        if not found:
            raise HoldError(f"the job {job.name} prints no counters:\n{printed[-3000:]}")
        if int(found.group(1)) != lines:
            raise HoldError(f"slice {number} has {lines} lines, and {job.name} read {found.group(1)} records: use lines without "
                            "carriage returns, with --hold fawn a key of its own for each line of a slice, and more seconds for --expire "
                            "if it is set")

    def streams(self, number, link):
        """The lines of a result, a stream for each file."""
        return [self.lines(path, size, link) for path, size in self.hdfs.parts(self.output(number))]

    def lines(self, path, size, link):
        with self.hdfs.open(path) as answer:
            for line in link.through(answer):
                size -= len(line)
                yield line
        if size:
            raise HoldError(f"{size} bytes of {path} have not come: run this again")

    def clear_output(self, number):
        self.hdfs.remove(self.output(number))

    def clear_files(self):
        """Ends the sequence's jobs, and removes all its files."""
        self.yarn.kill(self.tag)
        self.hdfs.remove(self.place)


class HdfsHolder:
    """A slice is a file."""

    # What is deleted is free within this.
    room_seconds = 60

    def __init__(self, on, _=None):
        self.on = on
        self.copies = min(3, len(on.cluster.machines) - 1)

    def path(self, number):
        return f"{self.on.place}/in-{number:04}"

    def source(self, number):
        return f"hdfs:{self.path(number)}"

    def load(self, number, blocks, link):
        """Loads a slice; returns its lines and bytes."""
        lines = size = 0

        def counted():
            nonlocal lines, size
            for block in link.through(blocks):
                lines += block.count(b"\n")
                size += len(block)
                yield block

        self.on.hdfs.put(self.path(number), counted())
        kept = self.on.hdfs.size(self.path(number))
        if kept != size:
            raise HoldError(f"HDFS has {kept} bytes of slice {number}, not its {size}: run this again")
        return lines, size

    def has_room(self, size, _):
        """Whether so many bytes fit: DataNodes delete blocks some seconds after their file is gone."""
        return counters.room(self.on.cluster) >= size * self.copies

    def clear(self, number):
        self.on.hdfs.remove(self.path(number))

    def clear_all(self):
        """HDFS's files are removed with the sequence's own."""


class FawnHolder:
    """A slice is records, whose keys begin with the slice's number. `fawn load` puts them, and a job removes them, or they expire."""

    def __init__(self, on, expire=None):
        self.on = on
        self.expire = expire
        # When the records of each slice that was loaded expire.
        self.until = {}
        command = on.cluster.processes["manager"]["command"]
        self.fawn = command[0]
        self.copies = int(command[command.index("--replicas") + 1])

    def source(self, number):
        return f"fawn:{self.on.place}/{number:04}/"

    @staticmethod
    def escaped(text):
        return text.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\r", b"\\r")

    def record(self, number, prefix, key, value):
        """A line as `fawn load` reads it."""
        key = prefix + key
        if not self.expire:
            return self.escaped(key) + b"\t" + self.escaped(value) + b"\n"
        key, value = (base64.b64encode(text).decode() for text in (key, value))
        return json.dumps({"key_base64": key, "value_base64": value, "exptime": self.until[number]}).encode() + b"\n"

    def records(self, number, blocks):
        """Lines as `fawn load` reads them, many at a time."""
        batch, size = [], 0
        prefix = self.source(number).removeprefix("fawn:/").encode()
        for line in warehouse.lines(blocks):
            key, tab, value = line.partition(b"\t")
            if not tab:
                raise HoldError(f"slice {number} has a line without a tab, `{line[:60].decode(errors='replace')}`: records of FAWN are "
                                "KEY TAB VALUE, so mend the file or hold slices in HDFS")
            batch.append(self.record(number, prefix, key, value))
            size += len(batch[-1])
            if size > BATCH:
                yield len(batch), b"".join(batch)
                batch, size = [], 0
        if batch:
            yield len(batch), b"".join(batch)

    def node(self, number):
        """The address of a node that runs; slices take them in turn."""
        machines = [each for each in self.on.cluster.machines[1:] if self.on.cluster.is_running(f"fawn{each.number}")]
        if not machines:
            raise HoldError("no node of FAWN runs: see `cluster status`, and start them with `cluster restart`")
        machine = machines[number % len(machines)]
        return f"{machine.address}:{machine.ports['memcached']}"

    def load(self, number, blocks, link):
        lines = size = 0

        def counted():
            nonlocal size
            for block in link.through(blocks):
                size += len(block)
                yield block

        self.until[number] = int(time.time()) + (self.expire or 0)
        form = "jsonl" if self.expire else "tsv"
        command = [self.fawn, "load", "-", "--format", form, "--binary-keys", "--no-resume", "--json", "--to", self.node(number)]
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
            process = self.on.children.start(command, stdin=subprocess.PIPE, stdout=printed, stderr=errors,
                                             env=self.on.cluster.environment(self.on.cluster.master))
            try:
                for count, text in self.records(number, counted()):
                    process.stdin.write(text)
                    lines += count
                process.stdin.close()
            except BrokenPipeError:
                pass  # It says why it has ended.
            except BaseException:
                process.kill()
                raise
            code = self.on.children.wait(process)
            errors.seek(0)
            if code:
                raise HoldError(f"FAWN does not take slice {number}: {errors.read().decode(errors='replace').strip()[-600:]}")
            printed.seek(0)
            return self.checked(number, json.load(printed), lines, size)

    @staticmethod
    def checked(number, summary, lines, size):
        if summary["records"] != lines:
            raise HoldError(f"FAWN has taken {summary['records']} records of slice {number}, not its {lines}: run this again")
        return lines, size

    @property
    def room_seconds(self):
        return (self.expire or 0) + CLOCK_SECONDS

    def has_room(self, _, held):
        """Nodes make room of deleted and expired records as they need it: whether fewer slices than `held` are there."""
        return not self.expire or sum(until + CLOCK_SECONDS > time.time() for until in self.until.values()) < held

    def clear(self, number):
        if not self.expire:
            self.on.run("remove", "--from", self.source(number))

    def clear_all(self):
        self.on.run("remove", "--from", f"fawn:{self.on.place}/")


HOLDERS = {"hdfs": HdfsHolder, "fawn": FawnHolder}
