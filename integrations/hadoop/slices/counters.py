"""What a cluster's machines have sent, received, read and written, by the counters of their interfaces and disks."""

import os
import subprocess

import configuration
import disks

SECTOR = 512
INTERFACE = "eth0"


def network(cluster, machine):
    """Bytes that a machine has sent and received; None where machines share an address, or none of its processes runs."""
    for name, process in cluster.processes.items():
        if cluster.has_namespaces and process["machine"] == machine.number and cluster.is_running(name):
            with open(f"/proc/{process['pid']}/net/dev", encoding="ascii") as file:
                for line in file:
                    interface, _, fields = line.partition(":")
                    if interface.strip() == INTERFACE:
                        numbers = fields.split()
                        return {"sent": int(numbers[8]), "received": int(numbers[0])}
    return None


def disk(cluster, machine):
    """Bytes that a machine's disk has read and written; None where machines share a disk."""
    if not cluster.has_disks:
        return None
    devices = [os.path.basename(device) for device in disks.devices(machine.image)]
    with open("/proc/diskstats", encoding="ascii") as file:
        for line in file:
            fields = line.split()
            if fields[2] in devices:
                return {"read": int(fields[5]) * SECTOR, "written": int(fields[9]) * SECTOR}
    return None


def now(cluster):
    return {machine.name: {"network": network(cluster, machine), "disk": disk(cluster, machine)} for machine in cluster.machines}


def between(before, after):
    """What was counted between two readings."""
    found = {}
    for name, kinds in after.items():
        found[name] = {}
        for kind, values in kinds.items():
            first = before[name][kind]
            found[name][kind] = None if values is None or first is None else {key: values[key] - first[key] for key in values}
    return found


def total(counted, kind):
    """The sum over all machines of one kind of counters; None if one machine's are lacking."""
    each = [kinds[kind] for kinds in counted.values()]
    if None in each:
        return None
    return {key: sum(values[key] for values in each) for key in each[0]}


def sync(cluster):
    """Has every machine's disk take what memory holds, all at the same time."""
    if cluster.has_disks:
        waiting = [subprocess.Popen(["sync", "-f", machine.directory]) for machine in cluster.machines]
        for process in waiting:
            process.wait()


def room(cluster):
    """Bytes that can be taken on the disks of the machines beside the master, each disk once. HDFS leaves some free, and takes a
    block only where all of it would fit; two may be begun."""
    free = {}
    for machine in cluster.machines[1:]:
        status = os.statvfs(machine.directory)
        free[os.stat(machine.directory).st_dev] = max(0, status.f_bavail * status.f_frsize - configuration.SPARE - 2 * configuration.BLOCK)
    return sum(free.values())
