"""A file system and a control group for each machine: what a machine reads, writes and computes is counted apart.

The file system is an image on a loop device, with direct I/O where the folder's own file system has it: without it, the
host's memory would answer a second time. The control group is of version 2, or of version 1's `cpuacct` and `cpu`.
"""

import os
import subprocess
import time

CGROUPS = "/sys/fs/cgroup"
UNMOUNT_SECONDS = 10
PERIOD_US = 100_000
MOST_SHARES = "262144"
MOST_WEIGHT = "10000"


class DiskError(Exception):
    """A disk or a control group cannot be made; the message says why and what to do."""


def run(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise DiskError(f"{command[0]} is missing: apt-get install e2fsprogs mount, or leave --disk out") from None
    if done.returncode:
        raise DiskError(f"`{' '.join(command)}` failed: {done.stderr.strip()}; free the device, or leave --disk out")
    return done.stdout


def devices(image):
    """The loop devices of an image."""
    if not os.path.exists(image):
        return []
    return [line.split(":")[0] for line in run("losetup", "-j", image).splitlines()]


def make(image, folder, size):
    """Makes a file system of so many bytes in an image, and mounts it at a folder."""
    os.makedirs(os.path.dirname(image), exist_ok=True)
    with open(image, "wb") as file:
        file.truncate(size)
    try:
        device = run("losetup", "--find", "--show", "--direct-io=on", image).strip()
    except DiskError:
        device = run("losetup", "--find", "--show", image).strip()
    # Nothing is initialised later, so that all accesses are the machine's own.
    run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
    os.makedirs(folder, exist_ok=True)
    run("mount", device, folder)


def remove(image, folder):
    """Unmounts a file system, and frees its loop device. Does nothing where there is none."""
    end = time.monotonic() + UNMOUNT_SECONDS
    while os.path.ismount(folder):
        try:
            run("umount", folder)
        except DiskError:
            if time.monotonic() > end:
                raise DiskError(f"{folder} is in use: end what uses it, then stop the cluster again") from None
            time.sleep(0.2)
    for device in devices(image):
        run("losetup", "--detach", device)


def group_folders(name):
    """The folders of a control group: of version 2 one, of version 1 those that count and that limit processor time."""
    if os.path.exists(os.path.join(CGROUPS, "cgroup.controllers")):
        return [os.path.join(CGROUPS, name)]
    return [os.path.join(CGROUPS, "cpuacct", name), os.path.join(CGROUPS, "cpu", name)]


def write(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(value)


def make_group(name):
    try:
        if os.path.exists(os.path.join(CGROUPS, "cgroup.controllers")):
            write(os.path.join(CGROUPS, "cgroup.subtree_control"), "+cpu")
        for folder in group_folders(name):
            os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise DiskError(f"a control group cannot be made: {error}; mount /sys/fs/cgroup, or leave --disk out") from None


def limit_group(name, cpus):
    """Has a group use at most so many processors, a tenth of a second at a time. It gets them before other groups do."""
    quota = str(round(cpus * PERIOD_US))
    folder = group_folders(name)[-1]
    try:
        if os.path.exists(os.path.join(folder, "cpu.cfs_quota_us")):
            write(os.path.join(folder, "cpu.cfs_period_us"), str(PERIOD_US))
            write(os.path.join(folder, "cpu.cfs_quota_us"), quota)
            write(os.path.join(folder, "cpu.shares"), MOST_SHARES)
        else:
            write(os.path.join(folder, "cpu.max"), f"{quota} {PERIOD_US}")
            write(os.path.join(folder, "cpu.weight"), MOST_WEIGHT)
    except OSError as error:
        raise DiskError(f"processors cannot be limited: {error}; leave --cpus out") from None


def join_group(name):
    """Has this process, and those it starts, in a group."""
    for folder in group_folders(name):
        write(os.path.join(folder, "cgroup.procs"), str(os.getpid()))


def remove_group(name):
    end = time.monotonic() + UNMOUNT_SECONDS
    for folder in group_folders(name):
        while os.path.isdir(folder):
            try:
                os.rmdir(folder)
            except OSError as error:
                if time.monotonic() > end:
                    raise DiskError(f"the control group {name} cannot be removed: {error}; end its processes first") from None
                time.sleep(0.2)
