"""Slices one after the other: each is loaded, computed on and removed, and its result stored. Overlapped, a slice is computed
on while the next one loads into the room of the last one, and that one's result is stored."""

import contextlib
import queue
import threading
import time

import children
import counters
import warehouse

STAGES = ("load", "compute", "clear", "store")
POLL_SECONDS = 0.2
# One is computed on, and one loads.
HELD = 2


class Sequence:
    """A sequence on a cluster. What took how long is in `spans` and `waits`."""

    def __init__(self, on, holder, results, job, flags, link, back, folder, is_overlapped, say):
        self.on, self.holder, self.results, self.job, self.flags = on, holder, results, job, flags
        self.link, self.back = link, back
        self.folder = folder
        self.is_overlapped = is_overlapped
        self.say = say
        self.children = on.children
        self.slices = results.state["slices"]
        self.todo = [number for number in range(1, len(self.slices) + 1) if not results.has(number)]
        self.began = time.monotonic()
        self.spans = []
        self.waits = {}
        self.by_stage = {}
        self.facts = {number: {"slice": number} for number in self.todo}
        self.failures = []

    @contextlib.contextmanager
    def span(self, stage, number):
        """One stage of one slice. In turn, counters are the stage's own."""
        before = None if self.is_overlapped else counters.now(self.on.cluster)
        began = time.monotonic()
        yield
        ended = time.monotonic()
        self.spans.append((stage, number, began - self.began, ended - self.began))
        self.facts[number][f"{stage}_seconds"] = round(ended - began, 3)
        if before is not None:
            self.by_stage.setdefault(stage, []).append(counters.between(before, counters.now(self.on.cluster)))

    def waited(self, what, attempt):
        """Tries until it comes to something, and counts the time."""
        began = time.monotonic()
        while True:
            self.children.check()
            try:
                found = attempt(POLL_SECONDS)
            except (queue.Empty, queue.Full):
                continue
            if found is not False:
                self.waits[what] = self.waits.get(what, 0.0) + time.monotonic() - began
                return found

    def wait_for_room(self, number):
        """Waits for what has been cleared to be free. Whoever takes the slice says so if it never is."""
        size = sum(end - begin for _, begin, end in self.slices[number - 1])
        end = time.monotonic() + self.holder.room_seconds
        held = HELD if self.is_overlapped else 1

        def attempt(seconds):
            has_room = self.holder.has_room(size, held) or time.monotonic() > end
            return has_room or self.children.stop.wait(seconds)

        self.waited("loading, for room", attempt)

    def load(self, number):
        self.wait_for_room(number)
        with self.span("load", number):
            lines, size = self.holder.load(number, warehouse.blocks(self.folder, self.slices[number - 1]), self.link)
        self.facts[number].update(lines=lines, bytes=size)
        self.say(f"slice {number} of {len(self.slices)}: loaded {size / 1e6:.1f} MB in {self.facts[number]['load_seconds']:.1f} s")

    def compute(self, number):
        with self.span("compute", number):
            self.on.compute(number, self.job, self.holder.source(number), self.flags, self.facts[number]["lines"])
        self.say(f"slice {number} of {len(self.slices)}: computed in {self.facts[number]['compute_seconds']:.1f} s")

    def clear(self, number):
        with self.span("clear", number):
            self.holder.clear(number)

    def store(self, number):
        with self.span("store", number):
            size = self.results.keep(number, self.on.streams(number, self.back), self.job)
            self.on.clear_output(number)
        self.facts[number]["result_bytes"] = size
        self.say(f"slice {number} of {len(self.slices)}: stored {size / 1e6:.1f} MB in {self.facts[number]['store_seconds']:.1f} s")

    def in_turn(self):
        for number in self.todo:
            for stage in STAGES:
                getattr(self, stage)(number)

    def overlapped(self):
        room = threading.Semaphore(HELD)
        loaded, computed = queue.Queue(), queue.Queue(1)

        def loads():
            for number in self.todo:
                self.waited("loading, for room", lambda seconds: room.acquire(timeout=seconds))
                self.load(number)
                loaded.put(number)

        def computes():
            for _ in self.todo:
                number = self.waited("computing, for a loaded slice", lambda seconds: loaded.get(timeout=seconds))
                self.compute(number)
                self.waited("computing, for a result to be stored", lambda seconds: computed.put(number, timeout=seconds))

        def stores():
            for _ in self.todo:
                number = self.waited("storing, for a result", lambda seconds: computed.get(timeout=seconds))
                self.clear(number)
                room.release()
                self.store(number)

        threads = [threading.Thread(target=self.guarded, args=(work,)) for work in (loads, computes, stores)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(POLL_SECONDS)
        finally:
            self.children.end()
            for thread in threads:
                thread.join()
        if self.failures:
            raise self.failures[0]

    def guarded(self, work):
        """A failure of one part ends the others, and is the sequence's."""
        try:
            work()
        except children.Stopped:
            pass
        except Exception as failure:  # noqa: BLE001 raised again by whoever waits
            self.failures.append(failure)
            self.children.stop.set()

    def run(self):
        (self.overlapped if self.is_overlapped else self.in_turn)()

    def hidden_seconds(self):
        """How long slices were loaded while others were computed on, and how long they were loaded in all, but for the first."""
        computing = [(begin, end) for stage, _, begin, end in self.spans if stage == "compute"]
        loads = sorted((begin, end) for stage, _, begin, end in self.spans if stage == "load")[1:]
        hidden = sum(max(0.0, min(end, last) - max(begin, first)) for begin, end in loads for first, last in computing)
        return hidden, sum(end - begin for begin, end in loads)
