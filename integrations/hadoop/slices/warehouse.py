"""A warehouse: a folder of files of lines. It is cut into slices, and takes a result for each."""

import collections
import fcntl
import heapq
import itertools
import json
import os
import secrets

FORMAT = 1
WINDOW = 1 << 20
# A result of each is open at the end.
MOST_SLICES = 500
STATE = "sequence.json"
RESULT = "result"


class WarehouseError(Exception):
    """The warehouse or its results cannot be used; the message says why and what to do."""


def files(folder):
    """All files below a folder, in the order of their names: path, bytes, time of the last change."""
    if not os.path.isdir(folder):
        raise WarehouseError(f"{folder} is no folder: name the warehouse with --warehouse")
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(place, name)
            if not name.startswith(".") and os.path.isfile(path):
                status = os.stat(path)
                if status.st_size:
                    found.append([os.path.relpath(path, folder), status.st_size, status.st_mtime_ns])
    if not found:
        raise WarehouseError(f"{folder} has no files with lines: put some there, or name another folder with --warehouse")
    return sorted(found)


def line_end(file, begin, most, size):
    """The end of the last whole line among so many bytes; `begin` if none ends there."""
    if size - begin <= most:
        return size
    at = begin + most
    while at > begin:
        start = max(begin, at - WINDOW)
        file.seek(start)
        newline = file.read(at - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        at = start
    return begin


def cut(folder, listed, most):
    """Slices of whole lines, of at most so many bytes each: lists of path, first byte, end."""
    slices, pieces, room = [], [], most
    for path, size, _ in listed:
        begin = 0
        with open(os.path.join(folder, path), "rb") as file:
            while begin < size:
                end = line_end(file, begin, room, size)
                if end > begin:
                    pieces.append([path, begin, end])
                    room -= end - begin
                    begin = end
                elif not pieces:
                    raise WarehouseError(f"{path} has a line of more than {most} bytes: take larger slices with --slice")
                if begin < size:
                    slices.append(pieces)
                    pieces, room = [], most
    slices += [pieces] if pieces else []
    if len(slices) > MOST_SLICES:
        raise WarehouseError(f"the warehouse would be {len(slices)} slices, and {MOST_SLICES} are the most: take larger ones with --slice")
    return slices


def blocks(folder, pieces):
    """The bytes of a slice, in blocks that end with a line's end at the latest where a file does."""
    for path, begin, end in pieces:
        with open(os.path.join(folder, path), "rb") as file:
            file.seek(begin)
            last = b""
            while begin < end:
                block = file.read(min(WINDOW // 4, end - begin))
                if not block:
                    raise WarehouseError(f"{path} has become shorter since the sequence began: name another folder with --to")
                begin += len(block)
                last = block
                yield block
            if not last.endswith(b"\n"):
                yield b"\n"


def lines(some):
    """The lines of blocks, without their ends."""
    rest = b""
    for block in some:
        whole = (rest + block).split(b"\n")
        rest = whole.pop()
        yield from whole
    if rest:
        yield rest


def before_first_tab(line):
    return line.partition(b"\t")[0]


def before_last_tab(line):
    return line.rpartition(b"\t")[0]


def sums(ordered, least):
    """Lines of a key and a number, one for each key, with the sum of its numbers if that is large enough."""
    for key, group in itertools.groupby(ordered, before_last_tab):
        total = sum(int(line.rpartition(b"\t")[2]) for line in group)
        if total >= least:
            yield b"%s\t%d\n" % (key, total)


def in_order(ordered, _):
    """The lines themselves."""
    return ordered


def index(ordered, most):
    """Lines of a word, the number of its pages, and weight and path of the weightiest: one for each word. The weights that a
    page has in several slices add up."""
    for word, group in itertools.groupby(ordered, before_first_tab):
        pages = collections.Counter()
        for line in group:
            count, *postings = line.rstrip(b"\n").partition(b"\t")[2].split(b" ")
            if len(postings) != 2 * int(count):
                raise WarehouseError(f"a page of the word `{word.decode(errors='replace')}` has a path with a space: write such paths "
                                     "with %20, and begin with another folder for --to")
            for weight, path in zip(postings[::2], postings[1::2]):
                pages[path] += int(weight)
        # Java compares strings by units of UTF-16.
        listed = sorted(pages.items(), key=lambda page: (-page[1], page[0].decode(errors="replace").encode("utf-16-be")))[:most]
        yield b" ".join([b"%s\t%d" % (word, len(pages))] + [b"%d %s" % (weight, path) for path, weight in listed]) + b"\n"


def whole_lines(file):
    for line in file:
        yield line if line.endswith(b"\n") else line + b"\n"


class Results:
    """The folder where results are, and what is known of the sequence that makes them."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.state = None
        self.lock = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def begin(self, wanted, make):
        """Takes up what was begun here, or begins it; says whether it was begun. `wanted` has to be the same both times where it
        is not None, and `make` adds to it at first."""
        os.makedirs(self.folder, exist_ok=True)
        self.lock = open(self.path(".lock"), "w", encoding="ascii")  # noqa: SIM115 held until this process ends
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise WarehouseError(f"another process works on {self.folder}: wait for its end, or name another folder with --to") from None
        path = self.path(STATE)
        is_resumed = os.path.exists(path)
        if is_resumed:
            with open(path, encoding="utf-8") as file:
                self.state = json.load(file)
            if self.state.get("format") != FORMAT:
                raise WarehouseError(f"{path} is not of this program: name another folder with --to")
            for name, value in wanted.items():
                if value is not None and self.state.get(name) != value:
                    was = "the warehouse's files have changed since" if name == "files" else f"{name} was {self.state.get(name)}, not {value}"
                    raise WarehouseError(f"{self.folder} has another sequence, {was}: name another folder with --to")
        else:
            if [name for name in os.listdir(self.folder) if name != ".lock"]:
                raise WarehouseError(f"{self.folder} has files that are no sequence's: name an empty folder with --to")
            self.state = {"format": FORMAT, "id": secrets.token_hex(4), **wanted, **make()}
            self.mark(False)
        return is_resumed

    def mark(self, is_held):
        """Keeps whether the cluster may hold slices."""
        self.state["is_held"] = is_held
        self.write(STATE, [json.dumps(self.state, indent=1).encode()])

    def name(self, number):
        return f"slice-{number:04}"

    def has(self, number):
        return os.path.exists(self.path(self.name(number)))

    def write(self, name, some):
        """Writes a file as NAME.part, and names it NAME once all of it is on the disk; returns its bytes."""
        part = self.path(name + ".part")
        size = 0
        with open(part, "wb") as out:
            for each in some:
                out.write(each)
                size += len(each)
            out.flush()
            os.fsync(out.fileno())
        os.rename(part, self.path(name))
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return size

    def keep(self, number, streams, job):
        """Writes a slice's result in the order of its keys, out of streams of lines; returns its bytes."""
        if job.has_number_first:
            fields = (line.rstrip(b"\n").partition(b"\t") for stream in streams for line in stream)
            ordered = sorted((b"%s\t%s\n" % (match, count) for count, _, match in fields), key=before_last_tab)
        else:
            ordered = heapq.merge(*map(whole_lines, streams), key=job.key)
        return self.write(self.name(number), ordered)

    def combine(self, job, bound):
        """The answer over all slices, out of their results; returns its bytes."""
        opened = [open(self.path(self.name(number)), "rb") for number in range(1, len(self.state["slices"]) + 1)]
        try:
            ordered = heapq.merge(*opened, key=job.key)
            return self.write(RESULT, job.combine(ordered, bound))
        finally:
            for file in opened:
                file.close()
