"""What a sequence used and where it waited, beside the paper's formula."""

import json
import subprocess

import counters
import sequence


COUNTED = (("network", "sent"), ("network", "received"), ("disk", "read"), ("disk", "written"))


class ReportError(Exception):
    """The formula cannot be computed; the message says why."""


def formula(fawn, *flags):
    """Section 6.3 by `fawn gordon cost`, with the paper's numbers unless flags say others."""
    done = subprocess.run([fawn, "gordon", "cost", "--json", *flags], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReportError(f"`fawn gordon cost` fails: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    node, job = found["nodes"][0], found["question"]["job"]
    return {
        "link_bytes_per_second": node["slice"]["link_bytes_per_second"], "input_bytes": job["input_bytes"],
        "hiding_seconds_per_gb": found["hiding_seconds_per_gb"],
        "compute_seconds_per_gb": job["compute_seconds"] / job["input_bytes"] * 1e9,
        "in_turn_seconds": node["in_turn"]["seconds_per_job"], "overlapped_seconds": node["overlapped"]["seconds_per_job"],
    }


def of(run, counted, seconds, sync_seconds, combine_seconds, fawn):
    """All of it, as JSON has it."""
    done = [facts for facts in run.facts.values() if "result_bytes" in facts]
    count = len(done)
    sums = {stage: sum(facts[f"{stage}_seconds"] for facts in done) for stage in sequence.STAGES}
    loaded, stored = sum(facts["bytes"] for facts in done), sum(facts["result_bytes"] for facts in done)
    hidden, to_hide = run.hidden_seconds()
    found = {
        "format": 1, "job": run.job.name, "hold": run.results.state["hold"], "expire": run.results.state.get("expire"), "overlap": run.is_overlapped,
        "slices": len(run.slices), "done_before": len(run.slices) - count, "done": done,
        "loaded_bytes": loaded, "stored_bytes": stored, "fetched_bytes": run.back.bytes,
        "seconds": round(seconds, 3), "sync_seconds": round(sync_seconds, 3), "combine_seconds": round(combine_seconds, 3),
        "stage_seconds": {stage: round(value, 3) for stage, value in sums.items()},
        "waits_seconds": {what: round(value, 3) for what, value in run.waits.items()},
        "load_hidden_seconds": round(hidden, 3), "load_to_hide_seconds": round(to_hide, 3),
        "counted": counted, "network": counters.total(counted, "network"), "disk": counters.total(counted, "disk"),
        "stages": None if run.is_overlapped else
        {stage: {kind: add([counters.total(each, kind) for each in parts]) for kind in ("network", "disk")}
         for stage, parts in run.by_stage.items()},
        "paper": formula(fawn), "formula": None,
    }
    if count and loaded:
        link = loaded / sums["load"]
        found["formula"] = formula(fawn, "--slice-nodes", str(len(run.on.cluster.machines) - 1), "--link-mbit", f"{link * 8 / 1e6:.6f}",
                                   "--job-input", str(round(loaded / count)), "--job-output", str(max(1, round(stored / count))),
                                   "--job-time", f"{max(1, round(sums['compute'] / count * 1e3))}ms")
    return found


def add(each):
    if None in each:
        return None
    return {key: sum(values[key] for values in each) for key in each[0]}


def table(rows):
    """Columns as wide as their longest cell; the first is to the left."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [" " + "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def mb(value):
    return "not counted" if value is None else f"{value / 1e6:.1f} MB"


def size_of(value):
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} bytes"


def time_of(seconds):
    return f"{seconds / 3600:.3g} h" if seconds >= 3600 else f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def stages_table(found):
    rows = [["slice", "loaded", "load", "compute", "clear", "store", "stored"]]
    for facts in found["done"]:
        rows.append([str(facts["slice"]), mb(facts["bytes"]), *(f"{facts[f'{stage}_seconds']:.1f} s" for stage in sequence.STAGES),
                     mb(facts["result_bytes"])])
    rows.append(["all", mb(found["loaded_bytes"]), *(f"{found['stage_seconds'][stage]:.1f} s" for stage in sequence.STAGES),
                 mb(found["stored_bytes"])])
    return table(rows)


def used_table(found):
    rows = [["machine", "sent", "received", "disk read", "disk written"]]
    totals = {"network": found["network"], "disk": found["disk"]}
    in_stages = [(f"  {stage}", kinds) for stage, kinds in (found["stages"] or {}).items()]
    for name, kinds in [*found["counted"].items(), ("all", totals), *in_stages]:
        rows.append([name, *(mb((kinds[kind] or {}).get(key)) for kind, key in COUNTED)])
    return table(rows)


def formula_table(found):
    ours, paper = found["formula"], found["paper"]
    rows = [["", "paper", "this run"]]
    for words, key, shown in (("a slice", "input_bytes", size_of), ("bytes a second from the warehouse", "link_bytes_per_second", size_of),
                              ("computing a GB that hides its load", "hiding_seconds_per_gb", time_of),
                              ("computing a GB", "compute_seconds_per_gb", time_of), ("a slice in turn", "in_turn_seconds", time_of),
                              ("a slice overlapped", "overlapped_seconds", time_of)):
        rows.append([words, shown(paper[key]), shown(ours[key])])
    rows.append(["a slice, as measured", "", time_of(found["seconds"] / len(found["done"]))])
    return table(rows)


def words(found):
    """The report for people."""
    way = "overlapped" if found["overlap"] else "in turn"
    lines = [f"{found['job']} over {found['slices']} slices in {found['hold'].upper()}, {way}: {found['seconds']:.1f} s", ""]
    if found["done_before"]:
        lines += [f"{found['done_before']} slices were done before", ""]
    if not found["done"]:
        return "\n".join(lines)
    lines += stages_table(found) + [""]
    waits = [[what, f"{seconds:.1f} s"] for what, seconds in found["waits_seconds"].items()]
    waits.append(["disks, to take what memory held", f"{found['sync_seconds']:.1f} s"])
    waits.append(["combining the results", f"{found['combine_seconds']:.1f} s"])
    lines += table([["waited", ""], *waits]) + [""]
    lines += used_table(found) + [""]
    lines += formula_table(found) + [""]
    to_hide = found["load_to_hide_seconds"]
    if found["overlap"] and to_hide:
        lines.append(f"Of {to_hide:.1f} s of loads after the first, {found['load_hidden_seconds']:.1f} s were hidden behind computing.")
    elif to_hide:
        lines.append(f"In turn, no load is hidden: --overlap yes can hide {to_hide:.1f} s.")
    return "\n".join(lines)
