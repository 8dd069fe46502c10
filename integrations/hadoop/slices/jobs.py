"""The jobs whose answers over all slices follow from those over each."""

import collections.abc
import dataclasses

import warehouse


@dataclasses.dataclass(frozen=True)
class Job:
    """One of the workloads, and what becomes of its results."""

    name: str
    # What it is told for each slice, so that nothing is lost that another slice adds to.
    told: tuple
    # Flags that its user may give.
    flags: tuple
    # What makes the answer out of the lines of all results, in the order of their keys, and what it takes for a key.
    combine: collections.abc.Callable = warehouse.sums
    key: collections.abc.Callable = warehouse.before_last_tab
    has_number_first: bool = False
    # The flag that bounds the answer over all slices, and the bound unless the user says so.
    bound: str = ""
    usual: int = 1


JOBS = {job.name: job for job in (
    Job("grep-simple", (), ("pattern",), has_number_first=True),
    Job("grep-complex", (), ("pattern",), has_number_first=True),
    # A phrase that is rare in each slice may be frequent in all.
    Job("ngram", ("--least", "1"), ("words", "least", "reduces"), bound="least", usual=2),
    Job("sort", ("--format", "text"), ("reduces",), combine=warehouse.in_order, key=warehouse.before_first_tab),
    # A page that is light in each slice may be weighty in all.
    Job("webindex", ("--pages", str(2**31 - 1)), ("pages", "reduces"), combine=warehouse.index, key=warehouse.before_first_tab,
        bound="pages", usual=1000),
)}
