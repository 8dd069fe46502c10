"""A network namespace for each machine, all at one switch in a namespace of its own. The host's network stays as it is."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess

CLONE_NEWNET = 0x40000000
HOSTS = "/etc/netns"


class NetworkError(Exception):
    """The network cannot be made; the message says why."""


def ip(*arguments):
    done = subprocess.run(("ip",) + arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NetworkError(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()}; try it with --loopback")
    return done.stdout


def is_possible():
    """Whether this process may make namespaces."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


def make(identity, machines):
    """Makes the namespaces of machines, with their addresses, in place of what a cluster whose folder is gone has left."""
    remove(identity, [machine.namespace for machine in machines])
    switch = f"{identity}-switch"
    ip("netns", "add", switch)
    ip("-n", switch, "link", "add", "bridge", "type", "bridge")
    ip("-n", switch, "link", "set", "bridge", "up")
    hosts = "127.0.0.1 localhost\n" + "".join(f"{each.address} {each.name}\n" for each in machines)
    for machine in machines:
        name = machine.namespace
        ip("netns", "add", name)
        port = f"port{machine.number}"
        ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("-n", switch, "link", "set", port, "master", "bridge", "up")
        ip("-n", name, "addr", "add", f"{machine.address}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")
        # `ip netns exec` shows a process these files in place of those in /etc.
        os.makedirs(os.path.join(HOSTS, name))
        with open(os.path.join(HOSTS, name, "hosts"), "w", encoding="utf-8") as out:
            out.write(hosts + f"{machine.address} {os.uname().nodename}\n")
        with open(os.path.join(HOSTS, name, "resolv.conf"), "w", encoding="utf-8") as out:
            out.write("# Nobody is asked: all names are in hosts.\n")


def remove(identity, namespaces):
    """Removes namespaces, what was made for them, and the processes in them."""
    known = [line.split()[0] for line in ip("netns", "list").splitlines() if line]
    for name in namespaces + [f"{identity}-switch"]:
        if name in known:
            for pid in map(int, ip("netns", "pids", name).split()):
                # This process may be inside as well.
                if pid != os.getpid():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            ip("netns", "del", name)
        shutil.rmtree(os.path.join(HOSTS, name), ignore_errors=True)
    if os.path.isdir(HOSTS) and not os.listdir(HOSTS):
        os.rmdir(HOSTS)


def limit(machines, megabits):
    """Has each machine send at most so many megabits a second."""
    for machine in machines:
        command = ["ip", "netns", "exec", machine.namespace, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf",
                   "rate", f"{megabits}mbit", "burst", "256kb", "latency", "50ms"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NetworkError(f"the network cannot be limited: {done.stderr.strip()}; leave --network out")


def enter(namespace):
    """Has this process, and those it starts, in a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(descriptor, CLONE_NEWNET):
            raise NetworkError(f"namespace {namespace} cannot be entered: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)
