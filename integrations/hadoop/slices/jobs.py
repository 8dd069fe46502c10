"""The jobs whose answers over all slices follow from those over each."""

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
    # Whether a line of the result is a key and a number, and numbers of one key add up; otherwise lines are put in order.
    is_counted: bool = True
    has_number_first: bool = False
    # How large a sum has to be, unless the user says so.
    least: int = 1

    @property
    def key(self):
        return warehouse.before_last_tab if self.is_counted else warehouse.before_first_tab


JOBS = {job.name: job for job in (
    Job("grep-simple", (), ("pattern",), has_number_first=True),
    Job("grep-complex", (), ("pattern",), has_number_first=True),
    # A phrase that is rare in each slice may be frequent in all.
    Job("ngram", ("--least", "1"), ("words", "least", "reduces"), least=2),
    Job("sort", ("--format", "text"), ("reduces",), is_counted=False),
)}
